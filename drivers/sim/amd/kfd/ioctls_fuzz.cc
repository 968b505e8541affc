// Random ioctls, mappings and doorbells on a simulated machine: error numbers, never a crash or a
// hang.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "drivers/sim/amd/kfd/sim_os.h"

namespace tg::amd::sim {
namespace {

// Takes bytes of the input; zeros behind its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  template <class T>
  T Take() {
    T value{};
    size_t n = std::min(sizeof(T), size_);
    std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// Values that let calls get further than random ones would: what earlier calls gave.
struct Known {
  std::vector<uint64_t> values;
  uint64_t Pick(Input* in) {
    uint8_t choice = in->Take<uint8_t>();
    if (choice >= 0xe0 || values.empty()) return in->Take<uint64_t>();
    return values[choice % values.size()];
  }
};

constexpr size_t kArena = 1 << 16;

void RunInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  constexpr Arch kArchs[] = {Arch::kGfx1100, Arch::kGfx1201, Arch::kGfx942, Arch::kGfx950};
  Arch arch = kArchs[in.Take<uint8_t>() & 3];
  SimKfdOptions options{.gpus = {arch, arch},
                        .vram_bytes = 64 << 20,
                        .gtt_bytes = 64 << 20,
                        .max_workgroups = 64,
                        .packet_budget = 4096,
                        .patience = std::chrono::milliseconds(0)};
  options.launch.instruction_budget = 1000;
  options.launch.threads = 1;
  auto os = *SimOs::Create(options);
  void* arena = nullptr;
  TG_CHECK(os->Mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                    &arena) == 0);
  int kfd = os->Open("/dev/kfd", O_RDWR), render = os->Open("/dev/dri/renderD128", O_RDWR);
  Known known;
  for (int i = 0; i < 2; ++i) known.values.push_back(os->kfd().gpu_id(i));
  kfd::AcquireVmArgs acquire{static_cast<uint32_t>(render), os->kfd().gpu_id(0)};
  os->Ioctl(kfd, kfd::kAcquireVm, &acquire);
  uint64_t base = reinterpret_cast<uint64_t>(arena);
  ContextSaveSizes sizes = ContextSaveSizesOf(os->kfd().model(0));
  for (uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{100}, uint64_t{4096}, base, base + 4096,
                     base + 8192, uint64_t{sizes.cwsr}, uint64_t{sizes.ctl_stack},
                     uint64_t{kfd::kAllocVram | kfd::kAllocWritable | kfd::kAllocPublic},
                     uint64_t{kfd::kAllocGtt | kfd::kAllocWritable},
                     uint64_t{kfd::kAllocUserptr | kfd::kAllocWritable}}) {
    known.values.push_back(v);
  }
  std::vector<std::pair<void*, size_t>> mappings;
  for (int calls = 0; calls < 64 && !in.empty(); ++calls) {
    uint8_t what = in.Take<uint8_t>();
    if (what < 0xc0) {
      // An ioctl whose structure is made of known values, in its first 96 bytes.
      uint64_t words[16] = {};
      unsigned length = what & 15;
      for (unsigned i = 0; i < length; ++i) {
        words[i] = in.Take<uint8_t>() & 1 ? known.Pick(&in)
                                          : (known.Pick(&in) & 0xffffffff) | known.Pick(&in) << 32;
      }
      unsigned number = in.Take<uint8_t>() % 0x28;
      unsigned bytes = in.Take<uint8_t>() % 128;
      bool bad = in.Take<uint8_t>() == 0xff;
      os->Ioctl(in.Take<uint8_t>() < 0xf0 ? kfd : render,
                _IOC(_IOC_READ | _IOC_WRITE, 'K', number, bytes),
                bad ? reinterpret_cast<void*>(words[0]) : words);
      for (uint64_t word : words) {
        if (word != 0 && known.values.size() < 200) known.values.push_back(word);
      }
    } else if (what < 0xd0) {
      size_t bytes = (in.Take<uint8_t>() % 16 + 1) * 4096;
      void* mapped = nullptr;
      int error = os->Mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                           in.Take<uint8_t>() & 1 ? kfd : render, known.Pick(&in), &mapped);
      if (error == 0) {
        mappings.push_back({mapped, bytes});
        known.values.push_back(reinterpret_cast<uint64_t>(mapped));
      }
    } else if (what < 0xe0 && !mappings.empty()) {
      // Words in what was mapped: packets, pointers, doorbells.
      auto& [mapped, bytes] = mappings[in.Take<uint8_t>() % mappings.size()];
      uint32_t word = in.Take<uint32_t>();
      size_t at = in.Take<uint16_t>() % (bytes / 4);
      std::memcpy(static_cast<char*>(mapped) + at * 4, &word, 4);
    } else if (!mappings.empty()) {
      auto& [mapped, bytes] = mappings[in.Take<uint8_t>() % mappings.size()];
      size_t at = in.Take<uint16_t>() % (bytes / 8);
      os->RingDoorbell(static_cast<uint64_t*>(mapped) + at, known.Pick(&in));
      (void)os->Relax();
    }
  }
  (void)os->Relax();
  for (auto& [mapped, bytes] : mappings) os->Munmap(mapped, bytes);
  os->Close(render);
  os->Close(kfd);
  // Last: user memory that GPUs see is part of it.
  os->Munmap(arena, kArena);
}

}  // namespace
}  // namespace tg::amd::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tg::amd::sim::RunInput(data, size);
  return 0;
}
