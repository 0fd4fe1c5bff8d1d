#include "runtime/torch/collectives_choice.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "runtime/blob_io.h"

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;

namespace {

constexpr std::size_t kLongestText = 4096;

std::string setting_text(std::size_t process, const CollectivesOffer& offer) {
  return "process " + std::to_string(process) +
         (offer.setting.empty() ? " was told none" : " was told to use " + offer.setting);
}

std::string version_text(std::int32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// Why the processes cannot use NCCL together; empty if they can. `culprit` is one that cannot.
std::string why_not(const std::vector<CollectivesOffer>& offers, std::size_t& culprit) {
  for (std::size_t i = 0; i < offers.size(); ++i) {
    culprit = i;
    if (offers[i].nccl_version == 0) {
      return "process " + std::to_string(i) + ": " + offers[i].why_not;
    }
    if (offers[i].nccl_version == offers[0].nccl_version) continue;
    return "NCCL is " + version_text(offers[0].nccl_version) + " at process 0 and " +
           version_text(offers[i].nccl_version) + " at process " + std::to_string(i);
  }
  return "";
}

std::string who_shares(const std::vector<CollectivesOffer>& offers) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const auto [known, is_new] = first.try_emplace(offers[i].device, i);
    if (is_new) continue;
    return "processes " + std::to_string(known->second) + " and " + std::to_string(i) +
           " share a GPU";
  }
  return "";
}

}  // namespace

Status read_collectives(std::string& setting) {
  const char* const value = std::getenv("RIPELINE_COLLECTIVES");
  setting = value == nullptr ? "" : value;
  if (setting.empty() || setting == "gloo" || setting == "nccl") return {};
  return {StatusCode::refused, "RIPELINE_COLLECTIVES is '" + setting + "'; it may be nccl or gloo"};
}

Blob encode(const CollectivesOffer& offer) {
  BlobWriter to;
  to.text(offer.setting);
  to.text(offer.device);
  to.number(offer.nccl_version);
  to.text(offer.why_not.substr(0, kLongestText));
  return to.take();
}

Status decode(const Blob& blob, CollectivesOffer& offer) {
  BlobReader from(blob);
  offer.setting = from.text(kLongestText);
  offer.device = from.text(kLongestText);
  offer.nccl_version = from.number<std::int32_t>();
  offer.why_not = from.text(kLongestText);
  if (from.is_done()) return {};
  return {StatusCode::invalid, "it does not say over what it can add up tensors"};
}

Status choose_collectives(const std::vector<CollectivesOffer>& offers, CollectivesChoice& choice) {
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].setting == offers[0].setting) continue;
    return {StatusCode::refused, setting_text(0, offers[0]) + ", " + setting_text(i, offers[i]) +
                                     ": RIPELINE_COLLECTIVES must be the same for all"};
  }
  const std::string setting = offers.empty() ? "" : offers[0].setting;
  const auto use_gloo = [&choice](const std::string& why) {
    choice = {.library = Collectives::gloo, .text = "gloo (" + why + ")"};
    return Status();
  };
  if (setting == "gloo") return use_gloo("as it was told");
  std::size_t culprit = 0;
  if (std::string why = why_not(offers, culprit); !why.empty()) {
    if (setting.empty()) return use_gloo(why);
    return {StatusCode::refused, setting_text(culprit, offers[culprit]) + ", and cannot: " + why};
  }
  // A user who asks for NCCL may know better: settings can change what NCCL takes for one device.
  const std::string sharing = setting.empty() ? who_shares(offers) : "";
  if (!sharing.empty()) return use_gloo(sharing);
  choice = {.library = Collectives::nccl,
            .text = "nccl " + version_text(offers.empty() ? 0 : offers[0].nccl_version) +
                    "; assumed: kernels that all of a group have launched run side by side"};
  return {};
}

}  // namespace ripeline::runtime
