// The cache of compiled programs on disk, between processes.
//
// What a process compiles shows in its compiler: CPU:CLANG runs the program that the setting CC
// names for each kernel, here a script that counts.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "gtest/gtest.h"
#include "tests/child.h"
#include "tg/engine/backend.h"
#include "tg/tensor/creation.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

using Environment = std::map<std::string, std::string>;
using testing::Child;
using testing::ChildResult;

// What a child computes: a few kernels.
int Compute() {
  try {
    const Tensor x = (Arange(48).Cast(kFloat32) * 0.1).Reshape({6, 8}).Clone().Realize();
    const Tensor y = (x.Softmax().MatMul(x.T()) + x.Sum(1)).Realize();
    std::printf("%.6f %.6f\n", y.Sum().Item(), x.Exp().Max().Item());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "threw %s\n", e.what());
    return 3;
  }
}

class ProgramCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(engine::EngineIsBackend());
    const char* tmp = std::getenv("TEST_TMPDIR");
    std::string pattern = std::string(tmp != nullptr ? tmp : "/tmp") + "/program_cache_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream script(folder_ / "compiler");
    script << "#!/bin/sh\necho >> " << (folder_ / "count").string() << "\nexec "
           << base::Get(base::kCc) << " \"$@\"\n";
    script.close();
    std::filesystem::permissions(folder_ / "compiler", std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Db() const { return folder_ / "cache.db"; }
  Environment With(Environment more) const {
    Environment e = {
        {"CACHEDB", Db()}, {"DEV", "CPU:CLANG"}, {"CPU_COUNT", "2"}, {"CC", folder_ / "compiler"}};
    for (const auto& [name, value] : more) e[name] = value;
    return e;
  }
  static ChildResult Run(const Environment& e) { return Child("compute", e).Wait(); }

  // How often the compiler ran since the last call.
  int64_t Compilations() {
    const std::filesystem::path count = folder_ / "count";
    if (!std::filesystem::exists(count)) return 0;
    const auto n = static_cast<int64_t>(std::filesystem::file_size(count));
    std::filesystem::remove(count);
    return n;
  }
  // The same for a run that must succeed.
  int64_t CompilationsOf(const Environment& more) {
    Compilations();
    const ChildResult r = Run(With(more));
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return Compilations();
  }

  std::filesystem::path folder_;
};

TEST_F(ProgramCacheTest, AWarmStartCompilesNothing) {
  const ChildResult first = Run(With({}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_GE(Compilations(), 3);
  const ChildResult warm = Run(With({}));
  EXPECT_EQ(warm.exit_code, 0) << warm.err;
  EXPECT_EQ(Compilations(), 0);
  EXPECT_EQ(warm.out, first.out);
  EXPECT_EQ(warm.err, "");
}

TEST_F(ProgramCacheTest, SettingsThatChangeCodeAreOtherKeys) {
  const int64_t all = CompilationsOf({});
  EXPECT_GE(CompilationsOf({{"NOOPT", "1"}}), all);
  EXPECT_EQ(CompilationsOf({{"TRANSCENDENTAL", "2"}}), all);
  EXPECT_EQ(CompilationsOf({{"CPU_COUNT", "1"}}), all);
  EXPECT_EQ(CompilationsOf({{"CCACHE", "0"}}), all);
  EXPECT_EQ(CompilationsOf({{"CACHELEVEL", "0"}}), all);
  // Others do not matter.
  EXPECT_EQ(CompilationsOf({{"SCACHE", "0"}}), 0);
  EXPECT_EQ(CompilationsOf({{"NO_MEMORY_PLANNER", "1"}}), 0);
  EXPECT_EQ(CompilationsOf({{"PARALLEL", "1"}}), 0);
}

TEST_F(ProgramCacheTest, RenderersDoNotMix) {
  const ChildResult clang = Run(With({}));
  const ChildResult llvm = Run(With({{"DEV", "CPU"}}));
  const ChildResult interp = Run(With({{"DEV", "INTERP"}}));
  EXPECT_EQ(clang.exit_code, 0) << clang.err;
  EXPECT_EQ(llvm.exit_code, 0) << llvm.err;
  EXPECT_EQ(interp.exit_code, 0) << interp.err;
  // Six digits agree, and all of them do again from the cache.
  EXPECT_EQ(Run(With({})).out, clang.out);
  EXPECT_EQ(Run(With({{"DEV", "CPU"}})).out, llvm.out);
  EXPECT_EQ(Run(With({{"DEV", "INTERP"}})).out, interp.out);
}

TEST_F(ProgramCacheTest, SeveralProcessesAtOnce) {
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(std::make_unique<Child>("compute", With({{"DEV", "CPU"}})));
  }
  std::vector<ChildResult> results;
  for (auto& c : children) results.push_back(c->Wait());
  for (const ChildResult& r : results) {
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(r.out, results[0].out);
    EXPECT_EQ(r.err, "");
  }
  EXPECT_GT(CompilationsOf({}), 0);
  EXPECT_EQ(CompilationsOf({}), 0);
}

// Overwritten by something else, or in places.
TEST_F(ProgramCacheTest, ADamagedFileIsSetAside) {
  const ChildResult good = Run(With({}));
  ASSERT_EQ(good.exit_code, 0) << good.err;
  int before = 0;
  for (const char* how : {"garbage", "flipped"}) {
    if (how == std::string("garbage")) {
      std::ofstream(Db(), std::ios::binary) << std::string(5000, 'x');
    } else {
      std::fstream f(Db(), std::ios::binary | std::ios::in | std::ios::out);
      for (uint64_t at = 100; at < std::filesystem::file_size(Db()); at += 97) {
        f.seekp(static_cast<std::streamoff>(at));
        f.put('\x5a');
      }
    }
    std::filesystem::remove(Db() + "-wal");
    std::filesystem::remove(Db() + "-shm");
    const ChildResult r = Run(With({}));
    EXPECT_EQ(r.exit_code, 0) << how << ": " << r.err;
    EXPECT_EQ(r.out, good.out) << how;
    int set_aside = 0;
    for (const auto& e : std::filesystem::directory_iterator(folder_)) {
      set_aside += e.path().filename().string().find(".corrupt-") != std::string::npos;
    }
    EXPECT_GT(set_aside, before) << how;
    EXPECT_NE(r.err.find("cache.db"), std::string::npos) << how << ": " << r.err;
    before = set_aside;
    EXPECT_EQ(CompilationsOf({}), 0) << how << ": the new file serves";
  }
}

// As after a crash or on a full disk.
TEST_F(ProgramCacheTest, ATruncatedFileDoesNoHarm) {
  const ChildResult good = Run(With({}));
  ASSERT_EQ(good.exit_code, 0) << good.err;
  for (const char* suffix : {"-wal", ""}) {
    const std::string file = Db() + suffix;
    if (!std::filesystem::exists(file)) continue;
    for (int part : {2, 3, 50}) {
      std::filesystem::resize_file(file,
                                   std::filesystem::file_size(file) / static_cast<uint64_t>(part));
      const ChildResult r = Run(With({}));
      EXPECT_EQ(r.exit_code, 0) << file << ": " << r.err;
      EXPECT_EQ(r.out, good.out) << file;
      EXPECT_EQ(CompilationsOf({}), 0) << file;
    }
  }
}

// A place that cannot be written is no reason to fail.
TEST_F(ProgramCacheTest, NoPlaceForAFile) {
  const ChildResult r = Run(With({{"CACHEDB", "/proc/no/such/place/cache.db"}}));
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_NE(r.err.find("disk cache"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace tg

int main(int argc, char** argv) {
  if (tg::testing::ChildRole() == "compute") return tg::Compute();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
