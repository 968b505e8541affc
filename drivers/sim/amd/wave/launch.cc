#include "drivers/sim/amd/wave/launch.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cpu_count.h"
#include "codegen/isa/amd/operand.h"
#include "drivers/sim/amd/wave/execute.h"
#include "drivers/sim/amd/wave/program.h"

namespace tg::amd::sim {
namespace {

// Instructions that a wave runs before the next one of its group has its turn.
constexpr uint64_t kSlice = 50'000;
constexpr uint32_t kMaxGroup = 1024;

uint32_t LdsLimit(Isa isa) { return isa == Isa::kGfx950 ? 160 << 10 : 64 << 10; }

// Fields of COMPUTE_PGM_RSRC1 and 2.
uint32_t ModeBits(const Dispatch& d) {
  uint32_t r = d.rsrc1;
  return (r >> 12 & 0xff) | (r >> 21 & 1) << 8 | (r >> 23 & 1) << 9 | (r >> 26 & 1) << 23;
}

class Launcher {
 public:
  Launcher(const Dispatch& d, Memory* memory, const LaunchOptions& options)
      : d_(d), memory_(memory), options_(options), isa_(IsaOf(d.arch)), program_(d.arch, memory) {
    wave_size_ = IsRdna(isa_) && d.wave32 ? 32 : 64;
    for (int i = 0; i < 3; ++i)
      groups_[i] = (static_cast<uint64_t>(d.grid[i]) + d.block[i] - 1) / d.block[i];
    total_ = groups_[0] * groups_[1] * groups_[2];
  }

  absl::StatusOr<LaunchStats> Run() {
    int threads = options_.threads > 0 ? options_.threads : base::AvailableCpus();
    if (options_.trace) threads = 1;
    threads = static_cast<int>(std::min<uint64_t>(threads, total_));
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([this] { Work(); });
    Work();
    for (std::thread& t : others) t.join();
    if (!status_.ok()) return status_;
    stats_.workgroups = total_;
    return stats_;
  }

 private:
  // One thread's waves, reused from group to group.
  struct Room {
    std::vector<std::unique_ptr<Wave>> waves;
    Group group;
    LaunchStats stats;
  };

  void Work() {
    Room room;
    room.group.lds.resize(d_.lds_bytes);
    room.group.lds_use.resize(options_.strict ? d_.lds_bytes / 4 + 1 : 0);
    if (options_.clock) {
      room.group.clock = [](void* f) {
        return (*static_cast<const std::function<uint64_t()>*>(f))();
      };
      room.group.clock_context = const_cast<std::function<uint64_t()>*>(&options_.clock);
    }
    while (!failed_.load(std::memory_order_relaxed)) {
      uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= total_) break;
      absl::Status status = RunGroup(index, &room);
      if (status.ok()) continue;
      std::lock_guard<std::mutex> lock(mutex_);
      failed_.store(true, std::memory_order_relaxed);
      // Of several faults the one that a single thread would meet first.
      if (status_.ok() || index < failed_group_) {
        status_ = status;
        failed_group_ = index;
      }
    }
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.Add(room.stats);
  }

  // Waves of the group in their initial state.
  void Start(uint64_t index, Room* room) {
    std::array<uint32_t, 3> id = {static_cast<uint32_t>(index % groups_[0]),
                                  static_cast<uint32_t>(index / groups_[0] % groups_[1]),
                                  static_cast<uint32_t>(index / groups_[0] / groups_[1])};
    std::array<uint32_t, 3> size;
    for (int i = 0; i < 3; ++i) size[i] = std::min(d_.block[i], d_.grid[i] - id[i] * d_.block[i]);
    uint32_t items = size[0] * size[1] * size[2];
    int count = static_cast<int>((items + wave_size_ - 1) / wave_size_);
    Group& g = room->group;
    g.waves.clear();
    g.barrier_phase = 0;
    g.barrier_arrived = 0;
    std::fill(g.lds.begin(), g.lds.end(), 0);
    std::fill(g.lds_use.begin(), g.lds_use.end(), Group::LdsUse());
    while (static_cast<int>(room->waves.size()) < count) {
      room->waves.push_back(std::make_unique<Wave>(isa_, wave_size_));
      Wave& w = *room->waves.back();
      w.memory = memory_;
      w.scratch_bytes = d_.scratch_bytes;
      if (d_.scratch_bytes > 0) {
        w.scratch.reset(new uint8_t[static_cast<uint64_t>(d_.scratch_bytes) * wave_size_]());
      }
    }
    for (int i = 0; i < count; ++i) {
      Wave& w = *room->waves[i];
      g.waves.push_back(&w);
      w.strict = options_.strict;
      w.count = options_.count;
      w.arch = d_.arch;
      w.Reset();
      w.group = &g;
      w.id_in_group = i;
      w.workgroup = id;
      w.pc = d_.entry;
      w.SetMode(ModeBits(d_));
      SetScalars(id, i, count, &w);
      SetVectors(size, items, i, &w);
    }
  }

  void SetScalars(const std::array<uint32_t, 3>& id, int wave, int waves, Wave* w) {
    int n = static_cast<int>(d_.rsrc2 >> 1 & 31);
    for (int i = 0; i < n; ++i) w->InitSgpr(i, d_.user_sgprs[i]);
    if (isa_ == Isa::kGfx12) {  // Workgroup ids are in TTMPs.
      w->InitSgpr(code::kTtmp0 + 9, id[0]);
      w->InitSgpr(code::kTtmp0 + 7, id[1] | id[2] << 16);
      w->InitSgpr(code::kTtmp0 + 8, static_cast<uint32_t>(wave) << 25);
      return;
    }
    for (int i = 0; i < 3; ++i) {
      if (d_.rsrc2 >> (7 + i) & 1) w->InitSgpr(n++, id[i]);
    }
    if (d_.rsrc2 >> 10 & 1) {
      w->InitSgpr(n++, static_cast<uint32_t>(waves) | (wave == 0 ? 0x80000000u : 0));
    }
  }

  void SetVectors(const std::array<uint32_t, 3>& size, uint32_t items, int wave, Wave* w) {
    uint64_t exec = 0;
    uint32_t* v0 = w->row(0);
    for (int l = 0; l < wave_size_; ++l) {
      uint32_t item = static_cast<uint32_t>(wave * wave_size_ + l);
      if (item >= items) break;
      exec |= uint64_t{1} << l;
      v0[l] = item % size[0] | item / size[0] % size[1] << 10 | item / size[0] / size[1] << 20;
    }
    w->InitVgpr(0, exec);
    w->set_exec(exec);
  }

  absl::Status RunGroup(uint64_t index, Room* room) {
    Start(index, room);
    Group& g = room->group;
    int alive = static_cast<int>(g.waves.size());
    std::vector<bool> ended(g.waves.size());
    while (alive > 0) {
      bool progress = false;
      for (size_t i = 0; i < g.waves.size(); ++i) {
        Wave& w = *g.waves[i];
        if (ended[i]) continue;
        if (w.stop == Stop::kBarrier && w.barrier_phase == g.barrier_phase) continue;
        progress = true;
        uint64_t left = options_.instruction_budget - w.instructions;
        RunSlice(w, std::min(kSlice, left));
        if (w.stop == Stop::kFault) return Faulted(w, g);
        if (w.stop == Stop::kEnd) {
          ended[i] = true;
          --alive;
        } else if (w.instructions >= options_.instruction_budget) {
          return absl::DeadlineExceededError(absl::StrCat("the kernel runs on: a wave has run ",
                                                          w.instructions, " instructions; ",
                                                          States(g, ended)));
        }
        if (alive > 0 && g.barrier_arrived >= alive) {
          if (options_.strict && alive < static_cast<int>(g.waves.size())) {
            return absl::AbortedError(
                absl::StrCat("a barrier that not all waves reach; ", States(g, ended)));
          }
          ++g.barrier_phase;
          g.barrier_arrived = 0;
        }
      }
      if (!progress) {
        return absl::DeadlineExceededError(
            absl::StrCat("all waves wait for each other; ", States(g, ended)));
      }
    }
    Collect(g, &room->stats);
    return absl::OkStatus();
  }

  void RunSlice(Wave& w, uint64_t instructions) {
    if (options_.trace) {
      sim::RunTraced(w, program_, instructions, options_.trace);
    } else {
      sim::Run(w, program_, instructions);
    }
  }

  absl::Status Faulted(const Wave& w, const Group&) {
    std::string text = absl::StrFormat("workgroup %d,%d,%d wave %d: %s", w.workgroup[0],
                                       w.workgroup[1], w.workgroup[2], w.id_in_group, w.fault);
    return absl::StrContains(w.fault, "unknown instruction") ? absl::UnimplementedError(text)
                                                             : absl::AbortedError(text);
  }

  // A line for each wave, for messages about hangs.
  std::string States(const Group& g, const std::vector<bool>& ended) {
    std::string text;
    for (size_t i = 0; i < g.waves.size(); ++i) {
      const Wave& w = *g.waves[i];
      absl::StrAppendFormat(
          &text, "%sworkgroup %d,%d,%d wave %d: %s at pc 0x%x after %u instructions, exec 0x%x",
          i == 0 ? "" : "; ", w.workgroup[0], w.workgroup[1], w.workgroup[2], i,
          ended[i]                   ? "ended"
          : w.stop == Stop::kBarrier ? "at a barrier"
                                     : "running",
          w.pc, w.instructions, w.exec());
    }
    return text;
  }

  static void Collect(const Group& g, LaunchStats* stats) {
    for (const Wave* w : g.waves) {
      ++stats->waves;
      stats->instructions += w->instructions;
      auto count = [&](OpClass c) { return w->class_counts[static_cast<int>(c)]; };
      stats->salu += count(OpClass::kSalu);
      stats->valu += count(OpClass::kValu);
      stats->matrix += count(OpClass::kMatrix);
      stats->smem += count(OpClass::kSmem);
      stats->vmem += count(OpClass::kVmem);
      stats->lds += count(OpClass::kLds);
      stats->branch += count(OpClass::kBranch);
      stats->other += count(OpClass::kOther);
      stats->lane_ops += w->lane_ops;
      stats->bytes_read += w->bytes_read;
      stats->bytes_written += w->bytes_written;
    }
  }

  const Dispatch& d_;
  Memory* memory_;
  const LaunchOptions& options_;
  Isa isa_;
  Program program_;
  int wave_size_;
  std::array<uint64_t, 3> groups_;
  uint64_t total_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  absl::Status status_;
  uint64_t failed_group_ = 0;
  LaunchStats stats_;
};

}  // namespace

void LaunchStats::Add(const LaunchStats& o) {
  workgroups += o.workgroups;
  waves += o.waves;
  instructions += o.instructions;
  salu += o.salu;
  valu += o.valu;
  matrix += o.matrix;
  smem += o.smem;
  vmem += o.vmem;
  lds += o.lds;
  branch += o.branch;
  other += o.other;
  lane_ops += o.lane_ops;
  bytes_read += o.bytes_read;
  bytes_written += o.bytes_written;
}

absl::StatusOr<LaunchStats> Launch(const Dispatch& d, Memory* memory,
                                   const LaunchOptions& options) {
  if (!HostCanSimulate()) {
    return absl::FailedPreconditionError("the simulator needs a host with AVX2, FMA and F16C");
  }
  uint64_t items = 1, groups = 1;
  for (int i = 0; i < 3; ++i) {
    if (d.block[i] == 0 || d.block[i] > kMaxGroup || d.grid[i] == 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("grid %u,%u,%u of blocks of %u,%u,%u work-items", d.grid[0], d.grid[1],
                          d.grid[2], d.block[0], d.block[1], d.block[2]));
    }
    items *= d.block[i];
    groups *= (static_cast<uint64_t>(d.grid[i]) + d.block[i] - 1) / d.block[i];
    if (groups > uint64_t{1} << 40) return absl::InvalidArgumentError("more than 2^40 workgroups");
  }
  if (items > kMaxGroup) {
    return absl::InvalidArgumentError(
        absl::StrCat("a workgroup of ", items, " work-items; at most 1024"));
  }
  if (d.lds_bytes > LdsLimit(IsaOf(d.arch))) {
    return absl::InvalidArgumentError(absl::StrCat("a workgroup with ", d.lds_bytes,
                                                   " bytes of LDS; ", std::string(ArchName(d.arch)),
                                                   " has ", LdsLimit(IsaOf(d.arch))));
  }
  if (d.scratch_bytes > 1 << 20) {
    return absl::InvalidArgumentError(
        absl::StrCat(d.scratch_bytes, " bytes of scratch for a work-item; at most 1 MiB"));
  }
  return Launcher(d, memory, options).Run();
}

}  // namespace tg::amd::sim
