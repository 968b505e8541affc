#include "tg/state/state_dict.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tg/tensor/creation.h"

namespace tg::state {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Layer {
  explicit Layer(float value, bool with_bias = true) : weight(FromData<float>({value, value + 1})) {
    if (with_bias) bias = FromData<float>({-value});
  }
  void VisitState(const StateVisitor& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }
  Tensor weight, bias;
};

struct Model {
  void VisitState(const StateVisitor& visit) const {
    visit("stem", stem);
    visit("layers", layers);
    visit("heads", heads);
    visit("pair", pair);
    visit("named", named);
    visit("maybe", maybe);
    visit("nothing", nothing);
    visit("owned", owned);
    visit("null", null);
    visit("steps", steps);
  }
  Layer stem{1};
  std::vector<Layer> layers = {Layer(2), Layer(3, /*with_bias=*/false)};
  std::array<std::vector<Tensor>, 2> heads = {std::vector<Tensor>{FromData<float>({9})}, {}};
  std::pair<Layer, Tensor> pair = {Layer(4, false), FromData<float>({8})};
  std::map<std::string, Tensor> named = {{"b", FromData<float>({6})}, {"a", FromData<float>({5})}};
  std::optional<Layer> maybe = Layer(7, false);
  std::optional<Layer> nothing;
  std::unique_ptr<Layer> owned = std::make_unique<Layer>(10.0f, false);
  std::shared_ptr<Layer> null;
  Tensor steps = Zeros({}, {kInt64, ""}).Clone();
};

std::vector<std::string> Names(const StateDict& dict) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : dict) names.push_back(name);
  return names;
}

template <typename E>
std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "no exception";
}

std::string TempFile(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(StateDictTest, NamesInOrder) {
  const Model model;
  EXPECT_THAT(Names(GetStateDict(model)),
              ElementsAre("stem.weight", "stem.bias", "layers.0.weight", "layers.0.bias",
                          "layers.1.weight", "heads.0.0", "pair.0.weight", "pair.1", "named.a",
                          "named.b", "maybe.weight", "owned.weight", "steps"));
  EXPECT_THAT(Names(GetStateDict(model.stem, "net.stem")),
              ElementsAre("net.stem.weight", "net.stem.bias"));
  // Containers and tensors can be models, too.
  EXPECT_THAT(Names(GetStateDict(model.layers)), ElementsAre("0.weight", "0.bias", "1.weight"));
  EXPECT_THAT(Names(GetStateDict(model.steps, "n")), ElementsAre("n"));
  EXPECT_EQ(GetParameters(model).size(), 13);
  EXPECT_TRUE(GetParameters(model)[0].IsSame(model.stem.weight));
  const StateDict dict = GetStateDict(model);
  EXPECT_TRUE(Find(dict, "pair.1")->IsSame(model.pair.second));
  EXPECT_EQ(Find(dict, "pair"), nullptr);
}

TEST(StateDictTest, TwoOfOneNameThrow) {
  struct Twice {
    void VisitState(const StateVisitor& visit) const {
      visit("w", w);
      visit("w", w);
    }
    Tensor w = FromData<float>({1});
  };
  EXPECT_EQ(MessageOf<UsageError>([] { GetStateDict(Twice()); }),
            "state_dict: two tensors are called 'w'");
}

TEST(LoadStateDictTest, AssignsInPlaceAndConverts) {
  const Layer layer(1);
  const Tensor view = layer.weight.Reshape({2, 1});
  const LoadReport report = LoadStateDict(
      layer, {{"bias", FromData<double>({0.5})}, {"weight", FromData<int32_t>({7, 8})}});
  EXPECT_THAT(report.unused, IsEmpty());
  EXPECT_THAT(report.Warnings(), IsEmpty());
  EXPECT_EQ(layer.weight.dtype(), kFloat32);
  EXPECT_TRUE(layer.weight.IsRealized());
  EXPECT_THAT(layer.weight.ToVector<float>(), ElementsAre(7, 8));
  EXPECT_THAT(layer.bias.ToVector<float>(), ElementsAre(0.5));
  // What was computed from the old value keeps it.
  EXPECT_THAT(view.ToVector<float>(), ElementsAre(1, 2));
}

TEST(LoadStateDictTest, ScalarsAndVectorsOfOneStandForEachOther) {
  Model model;
  StateDict dict = {{"0", FromData<int64_t>({5})}, {"1", FromData<float>({3}).Reshape({})}};
  const std::vector<Tensor> targets = {model.steps, model.stem.bias};
  LoadStateDict(targets, dict);
  EXPECT_EQ(model.steps.Item<int64_t>(), 5);
  EXPECT_EQ(ir::ToString(model.steps.shape()), "()");
  EXPECT_THAT(model.stem.bias.ToVector<float>(), ElementsAre(3));
  EXPECT_EQ(ir::ToString(model.stem.bias.shape()), "(1,)");
}

TEST(LoadStateDictTest, MismatchesThrowAndAssignNothing) {
  const Layer layer(1);
  EXPECT_EQ(MessageOf<DataError>([&] {
              LoadStateDict(
                  layer, {{"bias", FromData<float>({9})}, {"weight", FromData<float>({1, 2, 3})}});
            }),
            "Shape mismatch in layer `weight`: Expected shape (2,), but found (3,) in state dict.");
  EXPECT_THAT(MessageOf<DataError>([&] {
                LoadStateDict(layer, {{"bias", FromData<float>({9})}});
              }),
              HasSubstr("the state dict lacks ['weight']"));
  EXPECT_THAT(layer.bias.ToVector<float>(), ElementsAre(-1));
}

TEST(LoadStateDictTest, WarnsWhenNotStrict) {
  const Layer layer(1);
  const LoadReport report = LoadStateDict(
      layer,
      {{"bias", FromData<float>({9})}, {"x", FromData<float>({1})}, {"y", FromData<float>({1})}},
      {.strict = false});
  EXPECT_THAT(report.Warnings(), ElementsAre("WARNING: unused weights in state_dict ['x', 'y']",
                                             "WARNING: not loading weight"));
  EXPECT_THAT(layer.bias.ToVector<float>(), ElementsAre(9));
  EXPECT_THAT(layer.weight.ToVector<float>(), ElementsAre(1, 2));
}

TEST(SafeSaveTest, RoundTripOfAllDtypes) {
  StateDict dict;
  const std::vector<float> values = {0, 1, 1, 0, 1, 1};
  for (DType d : {kBool, kInt8, kUInt8, kInt16, kUInt16, kInt32, kUInt32, kInt64, kUInt64,
                  ir::kFp8E4M3, ir::kFp8E5M2, kFloat16, kBFloat16, kFloat32, kFloat64}) {
    dict.emplace_back(d.ToString(), FromData(values, {2, 3}, {d, ""}));
  }
  dict.emplace_back("scalar", FromData<float>({2.5}).Reshape({}));
  dict.emplace_back("empty", Zeros({3, 0, 2}));
  dict.emplace_back("computed", FromData<float>({1, 2}) * 3.0 + 1.0);
  dict.emplace_back("constant", Full({2}, 7));
  const std::string path = TempFile("all.safetensors");
  ASSERT_EQ(SafeSave(path, dict, {{"made", "by a test"}}), absl::OkStatus());
  absl::StatusOr<StateDict> loaded = SafeLoad(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(Names(*loaded), Names(dict));
  for (size_t i = 0; i < dict.size(); ++i) {
    const Tensor &in = dict[i].second, &out = (*loaded)[i].second;
    EXPECT_EQ(out.dtype(), in.dtype()) << dict[i].first;
    EXPECT_EQ(out.shape(), in.shape()) << dict[i].first;
    EXPECT_EQ(out.ToBytes(), in.ToBytes()) << dict[i].first;
  }
  EXPECT_THAT(Find(*loaded, "computed")->ToVector<float>(), ElementsAre(4, 7));
  // Negative control: the bytes are what is compared.
  EXPECT_NE(Find(*loaded, "computed")->ToBytes(), Find(*loaded, "constant")->ToBytes());
}

TEST(SafeSaveTest, ModelRoundTrip) {
  const Model model;
  const std::string path = TempFile("model.safetensors");
  ASSERT_EQ(SafeSave(path, GetStateDict(model)), absl::OkStatus());
  Model other;
  Tensor(other.stem.weight).Assign(Zeros({2}));
  LoadStateDict(other, *SafeLoad(path));
  EXPECT_THAT(other.stem.weight.ToVector<float>(), ElementsAre(1, 2));
}

TEST(SafeSaveTest, Errors) {
  const std::string path = TempFile("never.safetensors");
  EXPECT_THAT(MessageOf<DTypeError>([&] {
                (void)SafeSave(path, {{"w", Tensor(3)}});
              }),
              HasSubstr("safe_save requires concrete dtypes; 'w' is"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(SafeSave(TempFile("no/such/folder"), {{"w", FromData<float>({1})}}).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(SafeLoad(path).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(path) << "not a model";
  const absl::Status status = SafeLoad(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
}

}  // namespace
}  // namespace tg::state
