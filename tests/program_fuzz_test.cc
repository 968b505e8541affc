// Random programs through the whole stack, against the oracle of random_program.h.
//
//   TG_FUZZ_SEED   the first seed
//   TG_FUZZ_COUNT  how many programs; more than the default is for long runs
//   TG_FUZZ_FORK   1: each run in a process of its own, so that one that aborts is minimised too

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/settings.h"
#include "gtest/gtest.h"
#include "tests/random_program.h"
#include "tg/engine/backend.h"
#include "tg/tensor/backend.h"
#include "tg/tensor/reference_backend.h"

namespace tg::testing {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// The reference backend while it lives; then the one before.
class OnReferenceBackend {
 public:
  OnReferenceBackend() : before_(&GetBackend()) { reference_.emplace(); }
  ~OnReferenceBackend() {
    reference_.reset();
    SetBackend(before_);
  }

 private:
  Backend* before_;
  std::optional<ReferenceBackend> reference_;
};

struct Configuration {
  const char* dev;
  int noopt;
  int no_memory_planner = 0;
  int split_threshold = 32768;
};

std::string Name(const Configuration& c) {
  return std::string(c.dev) + " NOOPT=" + std::to_string(c.noopt) +
         " NO_MEMORY_PLANNER=" + std::to_string(c.no_memory_planner) +
         " REDUCEOP_SPLIT_THRESHOLD=" + std::to_string(c.split_threshold);
}

// The frontend on the reference backend: what differs there is no fault of the engine's.
bool IsReference(const Configuration& c) { return c.dev == std::string("REF"); }

std::string RunHere(const Program& program, const std::vector<OracleValue>& expected) {
  try {
    return Compare(expected, Execute(program));
  } catch (const std::exception& e) {
    return std::string("threw ") + e.what();
  }
}

// The first difference from what is expected, or what was thrown.
std::string RunOne(const Program& program, const Configuration& c,
                   const std::vector<OracleValue>& expected) {
  if (IsReference(c)) {
    ReferenceBackend reference;
    return RunHere(program, expected);
  }
  base::Scoped<std::string> dev(base::kDev, c.dev);
  base::Scoped<int> noopt(base::kNoOpt, c.noopt);
  base::Scoped<int> planner(base::kNoMemoryPlanner, c.no_memory_planner);
  base::Scoped<int> split(base::kReduceOpSplitThreshold, c.split_threshold);
  base::Scoped<int> spec(base::kSpec, 1);
  return RunHere(program, expected);
}

std::string RunInChild(const Program& program, const Configuration& c,
                       const std::vector<OracleValue>& expected) {
  int pipes[2];
  if (pipe(pipes) != 0) return "pipe failed";
  const pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    dup2(pipes[1], 2);
    if (std::getenv("TG_FUZZ_DEBUG") != nullptr) base::SetProcessValue(base::kDebug, 3);
    const std::string difference = RunOne(program, c, expected);
    if (!difference.empty()) (void)!write(pipes[1], difference.data(), difference.size());
    _exit(difference.empty() ? 0 : 1);
  }
  close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(pipes[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, n);
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return text.empty() ? "the process died"
                      : text.substr(0, std::getenv("TG_FUZZ_DEBUG") != nullptr ? 20000 : 2000);
}

// The part of a difference that stays while a program shrinks.
bool SameKind(const std::string& a, const std::string& b) {
  auto kind = [](const std::string& s) {
    return s.starts_with("root") ? std::string("root") : s.substr(0, s.find('\n')).substr(0, 40);
  };
  return kind(a) == kind(b);
}

void CheckPrograms(int64_t first_seed, int64_t count, int steps, bool large,
                   const std::vector<std::pair<Configuration, int>>& configurations) {
  const bool forks = FromEnvironment("TG_FUZZ_FORK", 0) != 0;
  Backend* engine = &GetBackend();
  int failures = 0;
  for (int64_t n = 0; n < count && failures < 10; ++n) {
    const uint64_t seed = static_cast<uint64_t>(first_seed + n);
    OnReferenceBackend reference;
    Backend* oracle = &GetBackend();
    const Program program = Generate(seed, steps, large);
    const std::vector<OracleValue> expected = Expected(program);
    for (const auto& [configuration, every] : configurations) {
      if (n % every != 0) continue;
      auto difference = [&, &configuration = configuration](const Program& p,
                                                            const std::vector<OracleValue>& e) {
        SetBackend(engine);
        std::string d = forks ? RunInChild(p, configuration, e) : RunOne(p, configuration, e);
        SetBackend(oracle);
        return d;
      };
      const std::string d = difference(program, expected);
      if (d.empty()) continue;
      ++failures;
      const Program small = Minimise(
          program, [&](const Program& p) { return SameKind(difference(p, Expected(p)), d); });
      ADD_FAILURE() << "seed " << seed << " on " << Name(configuration) << ": " << d
                    << "\nminimised: " << difference(small, Expected(small)) << "\n"
                    << ToString(small);
      std::fflush(stdout);
      break;
    }
  }
}

TEST(ProgramFuzzTest, AgreesWithTheOracle) {
  ASSERT_TRUE(engine::EngineIsBackend());
  const int64_t seed = FromEnvironment("TG_FUZZ_SEED", 1);
  const int64_t count = FromEnvironment("TG_FUZZ_COUNT", 250);
  std::printf("seeds %lld to %lld\n", static_cast<long long>(seed),
              static_cast<long long>(seed + count - 1));
  CheckPrograms(seed, count, static_cast<int>(FromEnvironment("TG_FUZZ_STEPS", 14)),
                /*large=*/false,
                {{{.dev = "REF", .noopt = 0}, 1},
                 {{.dev = "INTERP", .noopt = 1}, 1},
                 {{.dev = "INTERP", .noopt = 0}, 3},
                 {{.dev = "CPU", .noopt = 0}, 1},
                 {{.dev = "CPU", .noopt = 1}, 3},
                 {{.dev = "CPU", .noopt = 0, .no_memory_planner = 1, .split_threshold = 4}, 2},
                 {{.dev = "CPU:CLANG", .noopt = 0}, 10}});
}

TEST(ProgramFuzzTest, LargeProgramsAgreeWithTheOracle) {
  const int64_t seed = FromEnvironment("TG_FUZZ_SEED", 1);
  const int64_t count = FromEnvironment("TG_FUZZ_COUNT", 250) / 5;
  CheckPrograms(seed, count, static_cast<int>(FromEnvironment("TG_FUZZ_STEPS", 14)),
                /*large=*/true,
                {{{.dev = "CPU", .noopt = 0}, 1},
                 {{.dev = "INTERP", .noopt = 0}, 10},
                 {{.dev = "CPU", .noopt = 1}, 5},
                 {{.dev = "CPU:CLANG", .noopt = 0}, 10}});
}

TEST(ProgramFuzzTest, AllKindsOfStepsOccur) {
  OnReferenceBackend reference;
  std::map<StepKind, int> kinds;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    for (const Step& s : Generate(seed, 14).steps) ++kinds[s.kind];
  }
  for (int k = 0; k <= static_cast<int>(StepKind::kRealize); ++k) {
    EXPECT_GE(kinds[static_cast<StepKind>(k)], 3) << "kind " << k;
  }
}

// The comparison finds what it should: a root with one element changed.
TEST(ProgramFuzzTest, ComparisonFindsDifferences) {
  int found = 0, tried = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<OracleValue> expected;
    Program program;
    {
      OnReferenceBackend reference;
      program = Generate(seed, 8);
      expected = Expected(program);
    }
    std::vector<std::vector<std::byte>> actual;
    for (const OracleValue& v : expected) actual.push_back(v.bytes);
    EXPECT_EQ(Compare(expected, actual), "");
    if (actual[0].empty()) continue;
    ++tried;
    // The sign, or the highest bit of an integer.
    actual[0].back() ^= std::byte{0x80};
    if (!Compare(expected, actual).empty()) ++found;
  }
  // Zeros have no sign.
  EXPECT_GE(found, tried / 2);
  EXPECT_GT(tried, 10);
}

TEST(ProgramFuzzTest, MinimiserKeepsTheCause) {
  OnReferenceBackend reference;
  auto has_sum = [](const Program& p) {
    for (const Step& s : p.steps) {
      if (s.kind == StepKind::kSum) return true;
    }
    return false;
  };
  for (uint64_t seed = 1; seed < 50; ++seed) {
    const Program p = Generate(seed, 20);
    if (!has_sum(p)) continue;
    const Program small = Minimise(p, has_sum);
    EXPECT_TRUE(has_sum(small));
    EXPECT_LE(small.steps.size(), 6u) << ToString(small);
    return;
  }
  FAIL() << "no program has a sum";
}

}  // namespace
}  // namespace tg::testing
