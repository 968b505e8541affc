#include "tg/engine/jit.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "drivers/runtime/counters.h"
#include "gtest/gtest.h"
#include "tg/engine/backend.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/index.h"
#include "tg/tensor/random.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

using Tensors = std::vector<Tensor>;
using Values = std::vector<float>;

Tensor Ramp(const Shape& shape, double start = 0) {
  const int64_t n = ir::NumElements(shape).value();
  std::vector<float> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[i] = static_cast<float>(start + static_cast<double>(i));
  return FromData(v, shape);
}

// Runs a scenario as it is, without recording, and without the memory planner: all must see the
// same bits. A scenario gives everything that it read.
Values SameInAllModes(const std::function<Values()>& scenario) {
  EXPECT_TRUE(engine::EngineIsBackend());
  const Values recorded = scenario();
  Values direct, unplanned;
  {
    base::Scoped<int> jit(base::kJit, 0);
    direct = scenario();
  }
  {
    base::Scoped<int> planner(base::kNoMemoryPlanner, 1);
    unplanned = scenario();
  }
  EXPECT_EQ(recorded, direct);
  EXPECT_EQ(recorded, unplanned);
  return recorded;
}

void Append(Values& values, const Tensor& t) {
  const Values v = t.ToVector<float>();
  values.insert(values.end(), v.begin(), v.end());
}

template <typename F>
std::string Thrown(F f) {
  try {
    f();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(JitTest, RecordsTheSecondCallAndReplaysAfter) {
  int runs = 0;
  Jit f([&](const Tensors& in) {
    ++runs;
    return Tensors{in[0] * 2 + in[1]};
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(f.captured(), i >= 2);
    EXPECT_EQ(f.calls(), i);
    const Tensor y = f({Ramp({4}, i), Ramp({4}, 10 * i)})[0];
    EXPECT_EQ(y.ToVector<float>(),
              (Values{12.0f * i, 12.0f * i + 3, 12.0f * i + 6, 12.0f * i + 9}));
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(f.items(), 1);
}

TEST(JitTest, JitZeroRunsTheFunctionEachTime) {
  base::Scoped<int> jit(base::kJit, 0);
  int runs = 0;
  Jit f([&](const Tensors& in) {
    ++runs;
    return Tensors{in[0] + 1};
  });
  for (int i = 0; i < 4; ++i) f({Ramp({2})});
  EXPECT_EQ(runs, 4);
  EXPECT_FALSE(f.captured());
}

TEST(JitTest, ResultsStayInTheSameMemory) {
  Jit f([](const Tensors& in) { return Tensors{in[0] + 1}; });
  f({Ramp({2}, 0)});
  f({Ramp({2}, 0)});
  const Tensor a = f({Ramp({2}, 10)})[0];
  const Tensor kept = a.Clone().Realize();
  const Tensor b = f({Ramp({2}, 20)})[0];
  EXPECT_EQ(b.ToVector<float>(), (Values{21, 22}));
  EXPECT_EQ(a.ToVector<float>(), (Values{21, 22}));
  EXPECT_EQ(kept.ToVector<float>(), (Values{11, 12}));
}

TEST(JitTest, SeveralKernelsAndResults) {
  const Values v = SameInAllModes([] {
    Jit f([](const Tensors& in) {
      const Tensor s = in[0].Softmax();
      const Tensor n = in[0].LayerNorm();
      const Tensor m = in[0].MatMul(in[0].T()).Contiguous();
      return Tensors{s, n + m.Sum(), m.Sum(0), m.Max().Relu()};
    });
    Values all;
    for (int i = 0; i < 4; ++i) {
      for (const Tensor& t : f({(Ramp({6, 6}, i) * 0.125).Sin()})) Append(all, t);
    }
    return all;
  });
  EXPECT_EQ(v.size(), 4u * (36 + 36 + 6 + 1));
}

// Parameters keep their memory; what is assigned to them happens in each replay, realized by the
// function or not.
TEST(JitTest, InPlaceUpdates) {
  for (bool realizes : {true, false}) {
    const Values v = SameInAllModes([realizes] {
      Tensor w = Ramp({3}).Clone().Realize();
      Jit f([&](const Tensors& in) {
        const Tensor loss = (w * in[0]).Sum();
        w.Assign(w - in[0] * 0.5);
        if (realizes) w.Realize();
        return Tensors{loss};
      });
      Values all;
      for (int i = 0; i < 6; ++i) {
        Append(all, f({Full({3}, i).Clone()})[0]);
        Append(all, w);
      }
      return all;
    });
    // w = (0, 1, 2) - (0 + 1 + .. + 5) / 2.
    EXPECT_EQ(Values(v.end() - 3, v.end()), (Values{-7.5, -6.5, -5.5}));
  }
}

// What was assigned before the recording is no part of it.
TEST(JitTest, PendingAssignmentsAreNotRecorded) {
  SameInAllModes([] {
    Tensor w = Ramp({3}).Clone().Realize();
    Jit f([&](const Tensors& in) { return Tensors{w + in[0]}; });
    Values all;
    for (int i = 0; i < 5; ++i) {
      w.Assign(w * 2 + 1);
      Append(all, f({Ramp({3}, i)})[0]);
    }
    return all;
  });
}

// A value that was not computed yet when a replay overwrites what it is computed from.
TEST(JitTest, LazyReadersOfOverwrittenMemory) {
  const Values v = SameInAllModes([] {
    Tensor w = Ramp({3}).Clone().Realize();
    Jit f([&](const Tensors& in) {
      w.Assign(w + in[0]);
      return Tensors{w.Sum()};
    });
    Values all;
    for (int i = 0; i < 4; ++i) {
      const Tensor before = w * 10, view = w.Flip(0), same = w.Reshape({3, 1}), copy = w.Detach();
      f({Full({3}, 1).Clone()});
      for (const Tensor& t : {before, view, same, copy, w}) Append(all, t);
    }
    return all;
  });
  EXPECT_EQ(Values(v.end() - 15, v.end()),
            (Values{30, 40, 50, 5, 4, 3, 3, 4, 5, 3, 4, 5, 4, 5, 6}));
}

// T22: the result is the next call's input.
TEST(JitTest, ResultsFedBack) {
  const int64_t n = 1 << 12;
  SameInAllModes([n] {
    Jit f([n](const Tensors& in) {
      const Tensor rest = in[0].Index({Slice(n / 2, n)});
      return Tensors{Tensor::Cat({rest, in[1]})};
    });
    Tensor state = Zeros({n}, {kInt32, {}}).Clone();
    Values all;
    for (int i = 1; i < 7; ++i) {
      state = f({state, Full({n / 2}, i, {kInt32, {}}).Clone()})[0];
      const std::vector<int> v = state.ToVector<int>();
      for (int64_t k = 0; k < n; ++k) {
        EXPECT_EQ(v[k], k < n / 2 ? i - 1 : i) << "call " << i << " element " << k;
        if (testing::Test::HasFailure()) return all;
      }
      Append(all, state);
    }
    return all;
  });
}

TEST(JitTest, TwoResultsFedBackCrosswise) {
  SameInAllModes([] {
    Jit f([](const Tensors& in) { return Tensors{in[1] + 1, in[0].Flip(0) * 2}; });
    Tensors state = {Ramp({5}), Ramp({5}, 100)};
    Values all;
    for (int i = 0; i < 6; ++i) {
      state = f({state[0], state[1]});
      Append(all, state[0]);
      Append(all, state[1]);
    }
    return all;
  });
}

// A result that is an input, or a view of one.
TEST(JitTest, InputsAsResults) {
  SameInAllModes([] {
    Jit f([](const Tensors& in) {
      return Tensors{in[0], in[0].Reshape({2, 2}), in[0] + 1, in[1].Reshape({1, 2}).Detach()};
    });
    Values all;
    for (int i = 0; i < 5; ++i) {
      for (const Tensor& t : f({Ramp({4}, i), Ramp({2}, -i)})) Append(all, t);
    }
    return all;
  });
}

TEST(JitTest, AssignmentToAnInput) {
  SameInAllModes([] {
    Jit f([](const Tensors& in) {
      Tensor x = in[0];
      x.Assign(x * 3);
      return Tensors{x.Sum()};
    });
    Values all;
    for (int i = 0; i < 5; ++i) {
      Tensor x = Ramp({4}, i).Clone().Realize();
      Append(all, f({x})[0]);
      Append(all, x);
    }
    return all;
  });
}

TEST(JitTest, InputsOfAllKinds) {
  SameInAllModes([] {
    Jit f([](const Tensors& in) { return Tensors{in[0] + in[1].Sum() + in[2].Cast(kFloat32)}; });
    Values all;
    for (int i = 0; i < 4; ++i) {
      // Unrealized, a view, another dtype.
      const Tensor y = Ramp({3, 2}, i);
      Append(all, f({Ramp({2}, i).Exp() + 1, y.T().Index({Slice(1, 2)}),
                     FromData<uint8_t>({1, 250})})[0]);
    }
    return all;
  });
}

TEST(JitTest, MisuseIsNamed) {
  Jit f([](const Tensors& in) { return Tensors{in[0] + 1}; });
  f({Ramp({2, 3})});
  EXPECT_EQ(Thrown([&] {
              f({Ramp({3, 2})});
            }),
            "jit: input 0 was float32 (2, 3) on CPU when recorded and is float32 (3, 2) on CPU");
  f({Ramp({2, 3})});
  EXPECT_EQ(Thrown([&] {
              f({Ramp({2, 3}), Ramp({2})});
            }),
            "jit: recorded with 1 inputs, called with 2");
  EXPECT_EQ(Thrown([&] {
              f({Zeros({2, 3}, {kInt32, {}}).Clone()});
            }),
            "jit: input 0 was float32 (2, 3) on CPU when recorded and is int32 (2, 3) on CPU");
  // It still works.
  EXPECT_EQ(f({Zeros({2, 3}).Clone()})[0].ToVector<float>(), Values(6, 1));

  Jit g([](const Tensors& in) { return Tensors{in[0] + in[1]}; });
  const Tensor x = Ramp({2});
  g({x, Ramp({2})});
  EXPECT_EQ(Thrown([&] {
              g({x, x});
            }),
            "jit: input 1 is the memory of another input; pass input.Clone()");
  EXPECT_NE(Thrown([&] { g({x, x.Reshape({2})}); }), "");
}

TEST(JitTest, ConstantsAsInputs) {
  Jit f([](const Tensors& in) { return Tensors{in[0] + 1}; });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f({Full({2}, i)})[0].ToVector<float>(), Values(2, 1.0f + i));
  }
}

// T25: a value read while recording would be frozen.
TEST(JitTest, ReadingValuesWhileRecordingThrows) {
  const std::vector<std::function<void(const Tensor&)>> reads = {
      [](const Tensor& x) { x.Sum().Item(); },
      [](const Tensor& x) { x.ToVector<float>(); },
      [](const Tensor& x) { (x + 1).ToBytes(); },
  };
  for (const auto& read : reads) {
    Jit f([&](const Tensors& in) {
      read(in[0]);
      return Tensors{in[0] + 1};
    });
    f({Ramp({2})});
    EXPECT_NE(Thrown([&] { f({Ramp({2})}); }).find("Jit"), std::string::npos);
    // Reading outside works again at once.
    EXPECT_EQ(Ramp({2}).Sum().Item<int>(), 1);
  }
}

TEST(JitTest, AFunctionThatThrowsIsRecordedAtTheNextCall) {
  bool fail = false;
  Jit f([&](const Tensors& in) {
    if (fail) throw UsageError("not today");
    return Tensors{in[0] + 1};
  });
  f({Ramp({2})});
  fail = true;
  EXPECT_EQ(Thrown([&] { f({Ramp({2})}); }), "not today");
  fail = false;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f({Ramp({2}, i)})[0].ToVector<float>(), (Values{1.0f + i, 2.0f + i}));
  }
  EXPECT_TRUE(f.captured());
}

TEST(JitTest, NothingToRecord) {
  Jit f([](const Tensors&) { return Tensors{}; });
  f({Ramp({2})});
  EXPECT_NE(Thrown([&] { f({Ramp({2})}); }).find("no kernel"), std::string::npos);
}

TEST(JitTest, NestedJitsAreRefused) {
  Jit inner([](const Tensors& in) { return Tensors{in[0] + 1}; });
  Jit outer([&](const Tensors& in) { return inner({in[0]}); });
  outer({Ramp({2})});
  EXPECT_NE(Thrown([&] { outer({Ramp({2})}); }).find("inside of another Jit"), std::string::npos);
  EXPECT_EQ(inner({Ramp({2})})[0].ToVector<float>(), (Values{1, 2}));
}

TEST(JitTest, ResetForgetsTheRecording) {
  int runs = 0;
  Jit f([&](const Tensors& in) {
    ++runs;
    return Tensors{in[0] + 1};
  });
  for (int i = 0; i < 3; ++i) f({Ramp({2})});
  EXPECT_TRUE(f.captured());
  f.Reset();
  EXPECT_EQ(f.calls(), 0);
  EXPECT_EQ(f.items(), 0);
  // Other shapes are fine now.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f({Ramp({3}, i)})[0].ToVector<float>(), (Values{1.0f + i, 2.0f + i, 3.0f + i}));
  }
  EXPECT_EQ(runs, 4);
}

TEST(JitTest, Moves) {
  Jit f([](const Tensors& in) { return Tensors{in[0] + 1}; });
  for (int i = 0; i < 3; ++i) f({Ramp({2})});
  Jit g = std::move(f);
  EXPECT_EQ(g({Ramp({2}, 5)})[0].ToVector<float>(), (Values{6, 7}));
}

TEST(JitTest, CapturingCanBeTurnedOffInside) {
  // What runs in such a scope runs now, and not in replays.
  int once = 0;
  Tensor count = Zeros({1}).Clone().Realize();
  Jit f([&](const Tensors& in) {
    base::Scoped<int> off(base::kCapturing, 0);
    once += count.Assign(count + 1).Item<int>() > 0;
    base::Scoped<int> on(base::kCapturing, 1);
    return Tensors{(in[0] + 1).Realize()};
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(f({Ramp({2}, i)})[0].ToVector<float>(), (Values{1.0f + i, 2.0f + i}));
  }
  EXPECT_EQ(once, 2);
  EXPECT_EQ(count.Item<int>(), 2);
}

// T21.
TEST(JitTest, RandomNumbersDifferInEachCall) {
  const Values v = SameInAllModes([] {
    ManualSeed(7);
    const Tensor before = Rand({3});  // drawn first, realized last
    Jit f([](const Tensors& in) { return Tensors{in[0] + Rand({3}), Rand({2})}; });
    Values all;
    for (int i = 0; i < 6; ++i) {
      for (const Tensor& t : f({Zeros({3}).Clone()})) Append(all, t);
      // Draws in between count.
      if (i % 2 == 0) Append(all, Rand({1}));
    }
    Append(all, before);
    return all;
  });
  for (size_t i = 0; i < v.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(v[i], v[j]) << i << " " << j;
  }
}

TEST(JitTest, SameSeedSameNumbers) {
  Jit f([](const Tensors& in) { return Tensors{in[0] + Randn({4}) + Rand({4})}; });
  auto sequence = [&](uint64_t seed) {
    ManualSeed(seed);
    Values all;
    for (int i = 0; i < 4; ++i) Append(all, f({Zeros({4}).Clone()})[0]);
    return all;
  };
  const Values first = sequence(3);  // two of its calls are no replays
  const Values other = sequence(4), again = sequence(3);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST(JitTest, DropoutDiffersInEachCall) {
  base::Scoped<int> training(base::kTraining, 1);
  SameInAllModes([] {
    ManualSeed(11);
    Jit f([](const Tensors& in) { return Tensors{in[0].Dropout(0.5)}; });
    Values all;
    for (int i = 0; i < 4; ++i) Append(all, f({Ones({64}).Clone()})[0]);
    return all;
  });
}

// --- Symbolic values and sizes -------------------------------------------------------------------

ir::UOp Bound(const char* name, int64_t max, int64_t value) {
  return ir::Bind(ir::Variable(name, 0, max), value);
}

TEST(JitTest, SymbolicValues) {
  SameInAllModes([] {
    Jit f([](const Tensors& in) { return Tensors{in[0] + in[1].Cast(kFloat32) * 10}; });
    Values all;
    for (int i = 0; i < 5; ++i) {
      Append(all, f({Ramp({3}), Tensor::FromVariable(Bound("i", 100, i * i))})[0]);
    }
    return all;
  });
}

TEST(JitTest, SymbolicSizes) {
  const Values v = SameInAllModes([] {
    Jit f([](const Tensors& in) {
      return Tensors{in[0].Sum(), (in[0] * in[0]).Sum(0), in[0].Max()};
    });
    const Tensor x = Ramp({8, 2}).Clone().Realize();
    Values all;
    for (int n : {3, 5, 8, 1, 4}) {
      const Tensor part = x.Shrink({{{0, Sint(Bound("n", 8, n))}}, {}});
      for (const Tensor& t : f({part})) Append(all, t);
    }
    return all;
  });
  // The first 4 rows: 0 to 7.
  EXPECT_EQ(Values(v.end() - 4, v.end()), (Values{28, 0 + 4 + 16 + 36, 1 + 9 + 25 + 49, 7}));
}

// A cache of keys that grows: written at position i, read up to it.
TEST(JitTest, SymbolicPositionAndMemory) {
  SameInAllModes([] {
    Tensor cache = Zeros({6, 2}).Clone().Realize();
    Jit f([&](const Tensors& in) {
      const Tensor rows = Arange(6).Reshape({6, 1});
      cache.Assign((rows == in[1]).Where(in[0].Reshape({1, 2}).Expand({6, 2}), cache));
      const Tensor seen = (rows <= in[1]).Cast(kFloat32);
      return Tensors{(cache * seen).Sum(0)};
    });
    Values all;
    for (int i = 0; i < 6; ++i) {
      Append(all, f({Ramp({2}, i), Tensor::FromVariable(Bound("pos", 5, i))})[0]);
      Append(all, cache);
    }
    return all;
  });
}

TEST(JitTest, AnotherViewOrVariableIsRefused) {
  const Tensor x = Ramp({8}).Clone().Realize();
  auto slice = [&](const char* name, int64_t from, int n) {
    return x.Shrink({{{Sint(from), Sint(Bound(name, 4, n)) + from}}});
  };
  Jit f([](const Tensors& in) { return Tensors{in[0].Sum()}; });
  f({slice("n", 1, 2)});
  f({slice("n", 1, 3)});
  EXPECT_EQ(f({slice("n", 1, 4)})[0].Item<int>(), 1 + 2 + 3 + 4);
  EXPECT_NE(Thrown([&] { f({slice("n", 2, 4)}); }).find("another view"), std::string::npos);
  EXPECT_NE(Thrown([&] { f({slice("m", 1, 4)}); }), "");
  EXPECT_EQ(f({slice("n", 1, 1)})[0].Item<int>(), 1);

  Jit g([](const Tensors& in) { return Tensors{in[0] + in[1] + in[2].Cast(kFloat32)}; });
  const Tensors bad = {Ramp({1}), Tensor::FromVariable(Bound("k", 9, 1)).Cast(kFloat32),
                       Tensor::FromVariable(Bound("k", 9, 2))};
  EXPECT_NE(Thrown([&] { g(bad); }), "");
}

// --- Memory --------------------------------------------------------------------------------------

TEST(JitTest, MemoryDoesNotGrow) {
  Tensor w = Ramp({64}).Clone().Realize();
  Jit f([&](const Tensors& in) {
    const Tensor y = (in[0] * w).Contiguous().Softmax();
    w.Assign(w + y);
    return Tensors{y.Sum()};
  });
  Tensor state = Ramp({64});
  for (int i = 0; i < 4; ++i) f({state.Clone()});
  const int64_t nodes = ir::LiveNodeCount();
  const int64_t bytes = drivers::GlobalCounters().Read().mem_used;
  for (int i = 0; i < 1000; ++i) f({Ramp({64}, i)});
  EXPECT_LE(ir::LiveNodeCount(), nodes);
  EXPECT_LE(drivers::GlobalCounters().Read().mem_used, bytes);
}

TEST(JitTest, PlannerSavesMemory) {
  auto peak = [](int no_planner) {
    base::Scoped<int> planner(base::kNoMemoryPlanner, no_planner);
    Jit f([](const Tensors& in) {
      Tensor x = in[0];
      for (int i = 0; i < 8; ++i) x = (x.MatMul(in[0]) * 0.01).Contiguous();
      return Tensors{x.Sum()};
    });
    const int64_t before = drivers::GlobalCounters().Read().mem_used;
    for (int i = 0; i < 3; ++i) f({Ramp({64, 64})});
    return drivers::GlobalCounters().Read().mem_used - before;
  };
  EXPECT_LT(peak(0), peak(1) / 2);
}

// T24: permuted copies, a loss per example, two backward passes.
TEST(JitTest, GradientsOfTwoBackwardPasses) {
  SameInAllModes([] {
    Tensor w = (Ramp({6, 4}) * 0.1).Sin().Clone().Realize();
    w.SetRequiresGrad();
    Jit f([&](const Tensors& in) {
      w.ZeroGrad();
      const Tensor h = in[0].MatMul(w).Permute({1, 0}).Contiguous().Tanh();
      const Tensor per_example = (h * h).Sum(0);
      per_example.Sum().Backward();
      const Tensor first = w.grad();
      (per_example * in[1]).Mean().Backward();
      return Tensors{first, w.grad(), per_example};
    });
    Values all;
    for (int i = 0; i < 5; ++i) {
      const Tensor x = (Ramp({8, 6}, i) * 0.3).Cos();
      for (const Tensor& t : f({x, Ramp({8}, i)})) Append(all, t);
    }
    return all;
  });
}

// A small network with momentum and weight decay, trained by recording.
TEST(JitTest, TrainingGivesTheSameBits) {
  const Values v = SameInAllModes([] {
    ManualSeed(42);
    Tensor w1 = Uniform({8, 16}, -0.3, 0.3).Clone(), w2 = Uniform({16, 4}, -0.3, 0.3).Clone();
    Tensor m1 = Zeros({8, 16}).Clone(), m2 = Zeros({16, 4}).Clone();
    w1.SetRequiresGrad();
    w2.SetRequiresGrad();
    Tensor::Realize(Tensors{w1, w2, m1, m2});
    Jit step([&](const Tensors& in) {
      w1.ZeroGrad();
      w2.ZeroGrad();
      const Tensor logits = in[0].MatMul(w1).Relu().MatMul(w2);
      const Tensor loss = logits.SparseCategoricalCrossEntropy(in[1]);
      loss.Backward();
      m1.Assign(m1 * 0.9 + w1.grad());
      m2.Assign(m2 * 0.9 + w2.grad());
      w1.Assign(w1.Detach() * 0.999 - m1 * 0.1);
      w2.Assign(w2.Detach() * 0.999 - m2 * 0.1);
      Tensor::Realize(Tensors{loss, m1, m2, w1, w2});
      return Tensors{loss};
    });
    Values losses;
    for (int i = 0; i < 12; ++i) {
      const Tensor x = Randn({32, 8});
      const Tensor y = x.Index({Slice(), Slice(0, 4)}).ArgMax(1);
      Append(losses, step({x, y})[0]);
    }
    Append(losses, w1);
    Append(losses, m2);
    return losses;
  });
  EXPECT_LT(v[11], v[0]);
}

}  // namespace
}  // namespace tg
