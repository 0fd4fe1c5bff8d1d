// Tests value_codec: a value arrives as it was sent, and no foreign bytes can do harm.
#include "runtime/torch/value_codec.h"

#include <gmock/gmock.h>
#include <torch/types.h>

#include <cstring>
#include <random>
#include <vector>

#include "runtime/value_head.h"

namespace ripeline::runtime {
namespace {

using testing::HasSubstr;

Payload encoded(const torch::IValue& tensor) {
  Payload payload;
  const core::Status status = encode_value(tensor, payload);
  EXPECT_TRUE(status.ok()) << status.message();
  return payload;
}

core::Status decode(Payload payload, torch::Tensor& tensor) {
  torch::IValue value;
  core::Status status = decode_value(std::move(payload), value);
  if (status.ok()) tensor = value.toTensor();
  return status;
}

std::string refusal(Payload payload) {
  torch::IValue value;
  return decode_value(std::move(payload), value).message();
}

TEST(ValueCodec, every_type_and_shape_comes_back) {
  const std::vector<torch::ScalarType> types = {
      torch::kFloat32, torch::kFloat64, torch::kFloat16, torch::kBFloat16, torch::kInt64,
      torch::kInt32,   torch::kInt16,   torch::kInt8,    torch::kUInt8,    torch::kBool};
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {1}, {7}, {2, 3, 5}, {0}, {4, 0, 3}};
  for (torch::ScalarType type : types) {
    for (const auto& shape : shapes) {
      const torch::Tensor sent = (torch::rand(shape) * 100).to(type);
      torch::Tensor received;
      const core::Status status = decode(encoded(sent), received);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(received.scalar_type(), type);
      EXPECT_EQ(received.sizes(), sent.sizes());
      EXPECT_TRUE(torch::equal(received, sent));
    }
  }
}

TEST(ValueCodec, a_view_arrives_dense_and_without_its_graph) {
  const torch::Tensor base = torch::rand({4, 6}, torch::requires_grad());
  torch::Tensor received;
  ASSERT_TRUE(decode(encoded(base.t().slice(0, 1, 4)), received).ok());
  EXPECT_TRUE(received.is_contiguous());
  EXPECT_FALSE(received.requires_grad());
  EXPECT_TRUE(torch::equal(received, base.detach().t().slice(0, 1, 4)));
}

TEST(ValueCodec, copies_nothing) {
  const torch::Tensor sent = torch::rand({3, 5});
  const Payload payload = encoded(sent);
  ASSERT_EQ(payload.parts.size(), 1U);
  EXPECT_EQ(payload.parts[0].data, static_cast<const std::byte*>(sent.const_data_ptr()));
  EXPECT_EQ(payload.parts[0].size, sent.nbytes());
  EXPECT_EQ(payload.head.size(), 7 + 2 * sizeof(std::int64_t));
  torch::Tensor received;
  ASSERT_TRUE(decode(payload, received).ok());
  EXPECT_EQ(received.const_data_ptr(), sent.const_data_ptr());
}

TEST(ValueCodec, a_part_is_kept_as_long_as_a_tensor_that_was_decoded) {
  int ended = 0;
  std::vector<float> data = {1, 1, 1};
  Payload payload = encoded(torch::ones({3}));
  payload.parts[0] = {.data = reinterpret_cast<std::byte*>(data.data()),
                      .size = data.size() * sizeof(float),
                      .owner = {&data, [&ended](void*) { ++ended; }}};
  torch::Tensor received;
  ASSERT_TRUE(decode(std::move(payload), received).ok());
  EXPECT_EQ(ended, 0);
  const torch::Tensor view = received.slice(0, 1, 3);
  received.reset();
  EXPECT_EQ(ended, 0) << "the view is of it, too";
  EXPECT_TRUE(torch::equal(view, torch::ones({2})));
}

TEST(ValueCodec, a_payload_outlives_its_tensor_and_a_decoded_tensor_its_payload) {
  torch::Tensor received;
  {
    Payload payload = encoded(torch::ones({3}));
    ASSERT_TRUE(decode(std::move(payload), received).ok());
  }
  EXPECT_TRUE(torch::equal(received, torch::ones({3})));
}

TEST(ValueCodec, each_tensor_of_a_value_is_changed_in_its_place) {
  const torch::Tensor a = torch::rand({2});
  c10::Dict<std::string, torch::Tensor> named;
  named.insert("a", a);
  const torch::IValue value = c10::ivalue::Tuple::create(
      std::vector<torch::IValue>{a, {}, named, std::vector<torch::Tensor>{a, torch::Tensor()}});
  const torch::IValue changed =
      with_each(value, [](const torch::Tensor& tensor) { return tensor + 1; });
  const auto& inside = changed.toTupleRef().elements();
  ASSERT_EQ(inside.size(), 4U);
  EXPECT_TRUE(torch::equal(inside[0].toTensor(), a + 1));
  EXPECT_TRUE(inside[1].isNone());
  EXPECT_TRUE(torch::equal(inside[2].toGenericDict().at("a").toTensor(), a + 1));
  EXPECT_TRUE(torch::equal(inside[3].toTensorVector().at(0), a + 1));
  EXPECT_FALSE(inside[3].toTensorVector().at(1).defined());
}

// Tuples, lists and dictionaries at any depth; some of their values are None.
TEST(ValueCodec, values_in_values_come_back) {
  const torch::Tensor a = torch::rand({2, 3});
  const torch::Tensor b = torch::arange(4);
  c10::Dict<std::string, torch::Tensor> named;
  named.insert("mask", b > 1);
  named.insert("ids", b);
  std::vector<torch::IValue> inside = {
      a, {}, std::vector<torch::Tensor>{b, a}, named, std::make_tuple(a, b)};
  const torch::IValue sent = c10::ivalue::Tuple::create(std::move(inside));
  torch::IValue received;
  const core::Status status = decode_value(encoded(sent), received);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<torch::IValue> parts = received.toTupleRef().elements();
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_TRUE(torch::equal(parts[0].toTensor(), a));
  EXPECT_TRUE(parts[1].isNone());
  EXPECT_TRUE(torch::equal(parts[2].toTensorVector().at(1), a));
  const auto back = parts[3].to<c10::Dict<std::string, torch::Tensor>>();
  EXPECT_TRUE(torch::equal(back.at("ids"), b));
  EXPECT_TRUE(torch::equal(back.at("mask"), b > 1));
  EXPECT_TRUE(
      torch::equal(std::get<1>(parts[4].to<std::tuple<torch::Tensor, torch::Tensor>>()), b));
  const std::vector<torch::Tensor> all = tensors_of(received);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_FALSE(all[1].defined());
}

TEST(ValueCodec, what_has_no_payload_is_refused) {
  Payload payload;
  EXPECT_THAT(encode_value(std::make_tuple(torch::ones({2}), 3), payload).message(),
              HasSubstr("no payload for a value of type int"));
  EXPECT_THAT(encode_value(std::vector<torch::Tensor>(65, torch::ones({})), payload).message(),
              HasSubstr("more than 64 tensors"));
  torch::IValue deep = torch::ones({});
  for (int i = 0; i <= kDeepestValue; ++i) deep = std::make_tuple(deep);
  EXPECT_THAT(encode_value(deep, payload).message(), HasSubstr("at most 16 deep"));
  EXPECT_THAT(encode_value(torch::rand({2}).to(torch::kComplexFloat), payload).message(),
              HasSubstr("no payload for a tensor"));
  EXPECT_FALSE(encode_value(torch::eye(2).to_sparse(), payload).ok());
}

TEST(ValueCodec, malformed_payloads_are_named) {
  const Payload good = encoded(torch::ones({2, 3}));
  EXPECT_THAT(refusal({}), HasSubstr("does not begin so"));
  Payload bad = good;
  bad.head[3] = std::byte{'X'};
  EXPECT_THAT(refusal(bad), HasSubstr("does not begin so"));
  bad = good;
  bad.head[4] = std::byte{77};
  EXPECT_THAT(refusal(bad), HasSubstr("unknown kind 77"));
  bad = good;
  bad.head[5] = std::byte{77};
  EXPECT_THAT(refusal(bad), HasSubstr("unknown type 77"));
  bad = good;
  bad.head[6] = std::byte{17};
  EXPECT_THAT(refusal(bad), HasSubstr("17 dimensions"));
  bad = good;
  bad.head.resize(12);
  EXPECT_THAT(refusal(bad), HasSubstr("its head ends early"));
  bad = good;
  bad.head.resize(25);
  EXPECT_THAT(refusal(bad), HasSubstr("a head of 25 bytes"));
  bad = good;
  --bad.parts[0].size;
  EXPECT_THAT(refusal(bad), HasSubstr("23 bytes of data, the shape needs 24"));
  bad = good;
  bad.parts.push_back(bad.parts[0]);
  EXPECT_THAT(refusal(bad), HasSubstr("2 parts for 1 tensors"));
  bad.parts.clear();
  EXPECT_THAT(refusal(bad), HasSubstr("a tensor without a part"));
  bad = good;
  bad.parts[0].device = 0;
  EXPECT_FALSE(refusal(bad).empty()) << "it cannot be read here";
  bad = encoded(torch::ones({2}, torch::kBool));
  bad.parts[0].data[1] = std::byte{2};
  EXPECT_THAT(refusal(bad), HasSubstr("neither 0 nor 1"));
}

TEST(ValueCodec, shapes_that_overflow_are_refused) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1, 3},
        {std::int64_t{1} << 62, 4},
        {std::int64_t{1} << 40, std::int64_t{1} << 40},
        {0, std::int64_t{1} << 62, std::int64_t{1} << 62}}) {
    Payload payload = encoded(torch::ones(std::vector<std::int64_t>(shape.size(), 1)));
    std::memcpy(payload.head.data() + 7, shape.data(), shape.size() * sizeof(std::int64_t));
    EXPECT_THAT(refusal(payload), HasSubstr("no such shape")) << shape[0];
  }
}

TEST(ValueCodec, random_damage_never_crashes) {
  std::mt19937_64 random(7);  // the seed
  const Payload good = encoded(torch::rand({3, 4, 5}));
  for (int round = 0; round < 20'000; ++round) {
    Payload payload = good;
    for (int i = 0; i < 3; ++i) {
      payload.head[random() % payload.head.size()] = static_cast<std::byte>(random());
    }
    if (round % 4 == 0) payload.head.resize(random() % (good.head.size() + 8));
    if (round % 4 == 1) payload.parts[0].size = random() % good.parts[0].size;
    if (round % 64 == 2) payload.parts.resize(random() % 3);
    torch::IValue value;
    if (decode_value(std::move(payload), value).ok()) {
      for (const torch::Tensor& tensor : tensors_of(value)) {
        EXPECT_TRUE(!tensor.defined() || tensor.numel() == tensor.flatten().size(0));
      }
    }
  }
}

}  // namespace
}  // namespace ripeline::runtime
