// Pairs sends with receives, and finds what is wrong before a graph can be built.
#include "wire/pairs.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::wire {
namespace {

using Kind = WireAction::Kind;

constexpr int kMostStreams = 1024;
constexpr std::size_t kMostActions = 200'000'000;  // numbers of nodes and edges fit 32 bits

std::string ordinal(std::size_t n) {
  const bool teens = n % 100 >= 11 && n % 100 <= 13;
  const char* suffix = n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return fmt::format("{}{}", n, teens ? "th" : suffix);
}

class MessagePairs {
 public:
  MessagePairs(const WireProgram& program, WirePairing& pairing) : program_(program), p_(pairing) {}

  std::optional<WireVerdict> run() {
    if (!number() || !check_groups()) return verdict_;
    for (int rank = 0; rank < size_of(program_.ranks); ++rank) {
      for (int i = 0; i < size_of(at(program_.ranks, rank)); ++i) {
        const auto wrong = why_invalid(rank, i);
        if (!wrong) continue;
        fail(WireVerdict::Kind::invalid, {{rank, i}},
             fmt::format("{} {}.", text_of(program_, {rank, i}), *wrong));
        return verdict_;
      }
    }
    collect();
    check_channels();
    if (!verdict_) check_collectives();
    return verdict_;
  }

 private:
  void fail(WireVerdict::Kind kind, std::vector<WirePosition> where, std::string sentence) {
    // A mismatch is more serious, so it replaces an unpaired action that was found earlier.
    if (verdict_ &&
        !(verdict_->kind == WireVerdict::Kind::unpaired && kind == WireVerdict::Kind::mismatch)) {
      return;
    }
    verdict_ = WireVerdict{kind, {}, {}, std::move(where), std::move(sentence)};
  }

  bool number() {
    std::size_t count = 0;
    for (const auto& actions : program_.ranks) {
      p_.first.push_back(static_cast<std::uint32_t>(count));
      count += actions.size();
      if (count > kMostActions) {
        fail(WireVerdict::Kind::invalid, {}, "There are more than 200 million actions.");
        return false;
      }
    }
    p_.first.push_back(static_cast<std::uint32_t>(count));
    p_.all.reserve(count);
    for (const auto& actions : program_.ranks) {
      for (const WireAction& action : actions) p_.all.push_back(&action);
    }
    return true;
  }

  bool check_groups() {
    member_.resize(program_.groups.size());
    for (std::size_t g = 0; g < program_.groups.size(); ++g) {
      const WireGroup& group = program_.groups[g];
      for (std::size_t m = 0; m < group.members.size(); ++m) {
        const int rank = group.members[m];
        const bool is_rank = rank >= 0 && rank < size_of(program_.ranks);
        if (!is_rank || !member_[g].emplace(rank, m).second) {
          fail(WireVerdict::Kind::invalid, {},
               fmt::format("Group {} names rank {}, which {}.", group.name, rank,
                           is_rank ? "it names before" : "does not exist"));
          return false;
        }
      }
    }
    return true;
  }

  // The reason why the action has no meaning; nullopt if it has one.
  std::optional<std::string> why_invalid(int rank, int index) const {
    const std::vector<WireAction>& actions = at(program_.ranks, rank);
    const WireAction& a = at(actions, index);
    const bool message = a.kind == Kind::send || a.kind == Kind::receive;
    if (message && (a.peer < 0 || a.peer >= size_of(program_.ranks) || a.peer == rank)) {
      return fmt::format("has rank {} for a peer", a.peer);
    }
    if (a.kind == Kind::collective) {
      if (a.group < 0 || a.group >= size_of(program_.groups)) return "is of no group";
      if (at(member_, a.group).count(rank) == 0) return "is of a group without its rank";
    }
    if (a.stream < -1 || a.stream >= kMostStreams) {
      return fmt::format("has stream {}", a.stream);
    }
    if (a.kind == Kind::compute && a.batch >= 0) return "is no communication, but in a batch";
    int call = index;  // the first action of its group call
    while (!a.after.empty() && a.batch >= 0 && call > 0 && at(actions, call - 1).batch == a.batch) {
      --call;
    }
    for (const int earlier : a.after) {
      if (earlier < 0 || earlier >= call) return "waits for something that does not come before it";
    }
    return std::nullopt;
  }

  void collect() {
    const auto ranks = static_cast<std::size_t>(program_.ranks.size());
    std::unordered_map<std::uint64_t, std::size_t> channel_of;
    for (const WireGroup& g : program_.groups) p_.collectives.emplace_back(g.members.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t a = p_.first[rank]; a < p_.first[rank + 1]; ++a) {
        const WireAction& action = *p_.all[a];
        if (action.kind == Kind::compute) continue;
        if (action.kind == Kind::collective) {
          const std::size_t m = at(member_, action.group).at(static_cast<int>(rank));
          at(p_.collectives, action.group)[m].push_back(a);
          continue;
        }
        const auto peer = static_cast<std::size_t>(action.peer);
        const bool sends = action.kind == Kind::send;
        const std::size_t from = sends ? rank : peer;
        const std::size_t to = sends ? peer : rank;
        const auto [found, is_new] = channel_of.emplace(from * ranks + to, p_.channels.size());
        if (is_new) {
          p_.channels.push_back({{static_cast<int>(from), static_cast<int>(to)}, {}, {}});
        }
        WirePairing::Channel& channel = p_.channels[found->second];
        (sends ? channel.sends : channel.receives).push_back(a);
      }
    }
  }

  void check_channels() {
    for (const WirePairing::Channel& channel : p_.channels) {
      const auto [from, to] = channel.ends;
      const std::size_t both = std::min(channel.sends.size(), channel.receives.size());
      for (std::size_t n = 0; n < both; ++n) {
        const std::uint32_t send = channel.sends[n];
        const std::uint32_t receive = channel.receives[n];
        if (p_.all[send]->payload == p_.all[receive]->payload) continue;
        fail(WireVerdict::Kind::mismatch, {p_.position(send), p_.position(receive)},
             fmt::format("The {} message from rank {} to rank {} is sent by {} and taken by {}, "
                         "which expects another.",
                         ordinal(n + 1), from, to, p_.all[send]->name, p_.all[receive]->name));
        return;
      }
      if (channel.sends.size() == channel.receives.size()) continue;
      const bool sends = channel.sends.size() > both;
      const std::uint32_t left = sends ? channel.sends[both] : channel.receives[both];
      fail(WireVerdict::Kind::unpaired, {p_.position(left)},
           fmt::format("{} has no {}: rank {} has {} of messages from rank {} to rank {}, "
                       "rank {} has {}.",
                       text_of(program_, p_.position(left)), sends ? "receive" : "send", from,
                       many(channel.sends.size(), "send"), from, to, to,
                       many(channel.receives.size(), "receive")));
    }
  }

  static std::string many(std::size_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  }

  void check_collectives() {
    for (std::size_t g = 0; g < p_.collectives.size(); ++g) {
      const auto& members = p_.collectives[g];
      for (std::size_t m = 1; m < members.size(); ++m) {
        const std::size_t both = std::min(members[0].size(), members[m].size());
        for (std::size_t n = 0; n < both; ++n) {
          if (p_.all[members[0][n]]->payload == p_.all[members[m][n]]->payload) continue;
          fail(WireVerdict::Kind::mismatch,
               {p_.position(members[0][n]), p_.position(members[m][n])},
               fmt::format("The {} collective of group {} is {} and {}.", ordinal(n + 1),
                           program_.groups[g].name, text_of(program_, p_.position(members[0][n])),
                           text_of(program_, p_.position(members[m][n]))));
          return;
        }
        if (members[0].size() == members[m].size()) continue;
        const bool of_first = members[0].size() > both;
        const std::uint32_t left = of_first ? members[0][both] : members[m][both];
        fail(WireVerdict::Kind::unpaired, {p_.position(left)},
             fmt::format("Rank {} has no part in the {} collective of group {}, {}.",
                         program_.groups[g].members[of_first ? m : 0], ordinal(both + 1),
                         program_.groups[g].name, text_of(program_, p_.position(left))));
      }
    }
  }

  const WireProgram& program_;
  WirePairing& p_;
  std::vector<std::unordered_map<int, std::size_t>> member_;  // per group: each rank's position
  std::optional<WireVerdict> verdict_;
};

}  // namespace

WirePosition WirePairing::position(std::uint32_t action) const {
  const auto after = std::upper_bound(first.begin(), first.end(), action);
  const auto rank = static_cast<std::size_t>(after - first.begin()) - 1;
  return {static_cast<int>(rank), static_cast<int>(action - first[rank])};
}

std::string text_of(const WireProgram& program, WirePosition where) {
  return fmt::format("{} of rank {}", at(at(program.ranks, where.rank), where.index).name,
                     where.rank);
}

std::optional<WireVerdict> pair_up(const WireProgram& program, WirePairing& pairing) {
  return MessagePairs(program, pairing).run();
}

}  // namespace ripeline::wire
