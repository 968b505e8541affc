// Runs AMD kernels and recorded instructions on a simulated GPU.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/runfiles.h"
#include "codegen/isa/amd/arch.h"
#include "codegen/object/amd_code_object.h"
#include "drivers/sim/amd/wave/kernel.h"
#include "drivers/sim/amd/wave/launch.h"
#include "drivers/sim/amd/wave/memory.h"
#include "drivers/sim/amd/wave/vectors.h"
#include "nlohmann/json.hpp"

namespace tg {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string file, arch, kernel, grid = "1,1,1", block = "1,1,1", vectors;
  int64_t dump = -1, budget = 1'000'000'000;
  int threads = 0;
  bool trace = false, strict = false, json = false, summary = false;
  std::vector<std::string> args;
};

absl::Status Bad(absl::string_view what, absl::string_view why, absl::string_view todo) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", why, "; ", todo));
}

absl::StatusOr<std::array<uint32_t, 3>> Triple(absl::string_view name, absl::string_view text) {
  std::array<uint32_t, 3> r = {1, 1, 1};
  std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  bool ok = parts.size() <= 3;
  for (size_t i = 0; ok && i < parts.size(); ++i)
    ok = absl::SimpleAtoi(parts[i], &r[i]) && r[i] > 0;
  if (!ok)
    return Bad(name, absl::StrCat("'", text, "' is no X,Y,Z"),
               "give one to three positive numbers");
  return r;
}

// A buffer argument, to be printed.
struct Buffer {
  uint64_t address = 0;
  uint64_t count = 0;
  std::string type;
};

absl::StatusOr<int> TypeSize(absl::string_view type) {
  if (type == "f32" || type == "i32" || type == "u32") return 4;
  if (type == "f64" || type == "i64" || type == "u64") return 8;
  if (type == "f16" || type == "u16" || type == "i16") return 2;
  if (type == "u8" || type == "i8") return 1;
  return Bad("--arg", absl::StrCat("unknown type '", type, "'"),
             "use f16 f32 f64 or i/u with 8 16 32 64");
}

// The bytes of `value` as `type`; f16 by its bits rounded toward zero, which is exact for small
// integers.
std::string Encode(absl::string_view type, double value) {
  std::string bytes(8, '\0');
  if (type == "f32") {
    float x = static_cast<float>(value);
    std::memcpy(bytes.data(), &x, 4);
  } else if (type == "f64") {
    std::memcpy(bytes.data(), &value, 8);
  } else if (type == "f16") {
    _Float16 x = static_cast<_Float16>(value);
    std::memcpy(bytes.data(), &x, 2);
  } else {
    int64_t x = static_cast<int64_t>(value);
    std::memcpy(bytes.data(), &x, 8);
  }
  bytes.resize(*TypeSize(type));
  return bytes;
}

double DecodeValue(absl::string_view type, const char* at) {
  auto as = [&](auto x) {
    std::memcpy(&x, at, sizeof(x));
    return static_cast<double>(x);
  };
  if (type == "f16") return as(_Float16{});
  if (type == "f32") return as(float{});
  if (type == "f64") return as(double{});
  if (type == "i8") return as(int8_t{});
  if (type == "u8") return as(uint8_t{});
  if (type == "i16") return as(int16_t{});
  if (type == "u16") return as(uint16_t{});
  if (type == "i32") return as(int32_t{});
  if (type == "u32") return as(uint32_t{});
  if (type == "i64") return as(int64_t{});
  return as(uint64_t{});
}

absl::Status AddArgument(absl::string_view text, amd::sim::Memory* memory, std::string* bytes,
                         std::vector<Buffer>* buffers) {
  std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts[0] == "buf") {
    Buffer b;
    if (parts.size() < 3 || parts.size() > 4 || !absl::SimpleAtoi(parts[1], &b.count) ||
        b.count == 0 || b.count > (uint64_t{1} << 32)) {
      return Bad("--arg", absl::StrCat("'", text, "'"), "use buf:COUNT:TYPE[:zero|iota|one]");
    }
    b.type = parts[2];
    absl::StatusOr<int> size = TypeSize(b.type);
    if (!size.ok()) return size.status();
    std::string fill = parts.size() == 4 ? parts[3] : "zero";
    if (fill != "zero" && fill != "iota" && fill != "one") {
      return Bad("--arg", absl::StrCat("unknown contents '", fill, "'"), "use zero, one or iota");
    }
    absl::StatusOr<uint64_t> address =
        memory->Allocate(b.count * *size, absl::StrCat("argument ", buffers->size()));
    if (!address.ok()) return address.status();
    b.address = *address;
    for (uint64_t i = 0; fill != "zero" && i < b.count; ++i) {
      std::string x = Encode(b.type, fill == "iota" ? static_cast<double>(i) : 1.0);
      absl::Status status = memory->Write(b.address + i * *size, x.data(), x.size());
      if (!status.ok()) return status;
    }
    bytes->resize((bytes->size() + 7) / 8 * 8);
    bytes->append(reinterpret_cast<const char*>(&b.address), 8);
    buffers->push_back(b);
    return absl::OkStatus();
  }
  double value;
  if (parts.size() != 2 || !absl::SimpleAtod(parts[1], &value)) {
    return Bad("--arg", absl::StrCat("'", text, "'"), "use TYPE:VALUE or buf:COUNT:TYPE:CONTENTS");
  }
  absl::StatusOr<int> size = TypeSize(parts[0]);
  if (!size.ok()) return size.status();
  bytes->resize((bytes->size() + *size - 1) / *size * *size);
  bytes->append(Encode(parts[0], value));
  return absl::OkStatus();
}

Json StatsJson(const amd::sim::LaunchStats& s) {
  return {{"workgroups", s.workgroups},
          {"waves", s.waves},
          {"instructions", s.instructions},
          {"salu", s.salu},
          {"valu", s.valu},
          {"matrix", s.matrix},
          {"smem", s.smem},
          {"vmem", s.vmem},
          {"lds", s.lds},
          {"branch", s.branch},
          {"other", s.other},
          {"lane_ops", s.lane_ops},
          {"bytes_read", s.bytes_read},
          {"bytes_written", s.bytes_written}};
}

absl::Status RunKernel(const Options& o) {
  absl::StatusOr<std::string> file = base::ReadFile(o.file);
  if (!file.ok()) return file.status();
  absl::StatusOr<object::AmdCodeObject> object = object::AmdCodeObject::Read(*file);
  if (!object.ok())
    return Bad(o.file, object.status().message(), "give a code object of clang or of an assembler");
  if (!o.arch.empty() && object->processor().name != o.arch) {
    return Bad(o.file, absl::StrCat("is for ", object->processor().name, ", not ", o.arch),
               "leave --arch away");
  }
  std::string kernel = o.kernel;
  if (kernel.empty() && object->kernels().size() == 1) kernel = object->kernels()[0].name;
  amd::sim::Memory memory;
  amd::sim::KernelArguments arguments;
  std::vector<Buffer> buffers;
  for (const std::string& a : o.args) {
    absl::Status status = AddArgument(a, &memory, &arguments.explicit_bytes, &buffers);
    if (!status.ok()) return status;
  }
  auto grid = Triple("--grid", o.grid), block = Triple("--block", o.block);
  if (!grid.ok()) return grid.status();
  if (!block.ok()) return block.status();
  arguments.grid = *grid;
  arguments.block = *block;
  absl::StatusOr<amd::sim::LoadedImage> image = amd::sim::LoadImage(*object, &memory);
  if (!image.ok()) return image.status();
  absl::StatusOr<amd::sim::Dispatch> dispatch =
      amd::sim::MakeDispatch(*object, kernel, *image, arguments, &memory);
  if (!dispatch.ok()) return dispatch.status();
  amd::sim::LaunchOptions options;
  options.strict = o.strict;
  options.count = !o.trace;
  options.threads = o.threads;
  options.instruction_budget = static_cast<uint64_t>(o.budget);
  if (o.trace) options.trace = [](const std::string& line) { std::cout << line << "\n"; };
  auto start = std::chrono::steady_clock::now();
  absl::StatusOr<amd::sim::LaunchStats> stats = amd::sim::Launch(*dispatch, &memory, options);
  if (!stats.ok()) return stats.status();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  Json json = StatsJson(*stats);
  json["seconds"] = seconds;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (o.dump >= 0 && static_cast<size_t>(o.dump) != i) continue;
    const Buffer& b = buffers[i];
    size_t size = *TypeSize(b.type);
    std::string bytes(b.count * size, '\0');
    absl::Status status = memory.Read(b.address, bytes.data(), bytes.size());
    if (!status.ok()) return status;
    if (o.json) {
      Json values = Json::array();
      for (uint64_t k = 0; k < b.count; ++k)
        values.push_back(DecodeValue(b.type, bytes.data() + k * size));
      json["buffers"][std::to_string(i)] = values;
    } else if (o.dump >= 0) {
      for (uint64_t k = 0; k < b.count; ++k) {
        std::cout << absl::StrFormat("%g%s", DecodeValue(b.type, bytes.data() + k * size),
                                     k % 8 == 7 ? "\n" : " ");
      }
      if (b.count % 8 != 0) std::cout << "\n";
    }
  }
  if (o.json) {
    std::cout << json.dump() << "\n";
    return absl::OkStatus();
  }
  for (const auto& [name, value] : json.items())
    std::cout << absl::StrFormat("%-16s%s\n", name, value.dump());
  return absl::OkStatus();
}

absl::StatusOr<amd::Arch> VectorsArch(const Options& o) {
  std::string name = o.arch;
  if (name.empty()) {
    name = absl::StrContains(o.vectors, "rdna4")  ? "gfx1201"
           : absl::StrContains(o.vectors, "cdna") ? "gfx950"
                                                  : "gfx1100";
  }
  std::optional<amd::Arch> arch = amd::FindArch(std::string_view(name));
  if (!arch.has_value()) return Bad("--arch", absl::StrCat("unknown '", name, "'"), "try gfx1100");
  return *arch;
}

// True when nothing failed without a reason.
absl::StatusOr<bool> RunVectorFile(const Options& o) {
  absl::StatusOr<amd::Arch> arch = VectorsArch(o);
  if (!arch.ok()) return arch.status();
  absl::StatusOr<std::string> text = base::ReadFile(o.vectors);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::string> path = base::FindRunfile("drivers/sim/amd/wave/justified.txt");
  if (!path.ok()) return path.status();
  absl::StatusOr<std::string> reasons = base::ReadFile(*path);
  if (!reasons.ok()) return reasons.status();
  auto justified = amd::sim::ParseJustifications(*reasons);
  if (!justified.ok()) return justified.status();
  auto results = amd::sim::RunVectors(*arch, *text, *justified);
  if (!results.ok()) return results.status();
  int counts[3] = {};
  for (const amd::sim::VectorResult& r : *results) {
    ++counts[static_cast<int>(r.kind)];
    if (r.kind == amd::sim::VectorResult::Kind::kFailed && !o.summary) {
      std::cout << "line " << r.line << ": " << r.op << ": " << r.detail << "\n";
    }
  }
  if (o.json) {
    std::cout << Json{{"passed", counts[0]}, {"failed", counts[1]}, {"justified", counts[2]}}.dump()
              << "\n";
  } else {
    std::cout << absl::StrFormat("%d passed, %d failed, %d justified\n", counts[0], counts[1],
                                 counts[2]);
  }
  return counts[1] == 0;
}

// Takes "--arg V" and "--arg=V", which may come many times, out of the command line.
std::vector<char*> TakeArgs(int argc, char** argv, std::vector<std::string>* args) {
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    absl::string_view a = argv[i];
    if (a == "--arg" && i + 1 < argc) {
      args->push_back(argv[++i]);
    } else if (absl::StartsWith(a, "--arg=")) {
      args->push_back(std::string(a.substr(6)));
    } else {
      rest.push_back(argv[i]);
    }
  }
  return rest;
}

int Main(int argc, char** argv) {
  Options o;
  base::Flags flags("amd_run", "runs an AMD kernel on a simulated GPU");
  flags.SetDescription(
      "Executes the machine code of a code object on the CPU: gfx1100, gfx1201, gfx942 and gfx950. "
      "Prints "
      "counts of instructions by class, bytes moved, and buffers after the "
      "run.\n\n"
      "--arg, which may come many times, gives the kernel's arguments in order: TYPE:VALUE for "
      "numbers, "
      "buf:COUNT:TYPE:CONTENTS for buffers with zero, one or iota. Types: f16 f32 f64, i and u "
      "with 8 16 32 64.");
  flags.AddArgument("FILE", &o.file, "code object", /*required=*/false);
  flags.Add("arch", &o.arch, "NAME", "processor, to be checked; of --vectors, which one runs them");
  flags.Add("kernel", &o.kernel, "NAME", "the kernel; not needed where there is one only");
  flags.Add("grid", &o.grid, "X,Y,Z", "work-items in all");
  flags.Add("block", &o.block, "X,Y,Z", "work-items of a group");
  flags.Add("dump", &o.dump, "N", "print buffer N, from 0, in the order of --arg");
  flags.Add("threads", &o.threads, "N", "host threads; 0: all cores");
  flags.Add("budget", &o.budget, "N", "instructions a wave may run");
  flags.Add("strict", &o.strict, "fault where silicon would read stale or unset data");
  flags.Add("trace", &o.trace, "print each instruction with the registers it changes");
  flags.Add("vectors", &o.vectors, "FILE", "run recorded transitions instead of a kernel");
  flags.Add("summary", &o.summary, "of --vectors: print the counts only");
  flags.Add("json", &o.json, "print one JSON object");
  flags.AddSection(
      "EXAMPLES",
      "  amd_run kernels.co --kernel add --grid 1024 --block 256 --arg buf:1024:f32 --arg "
      "buf:1024:f32:iota --arg buf:1024:f32:one --dump 0\n"
      "  amd_run --vectors emu_rdna3.jsonl --summary");
  std::vector<char*> rest = TakeArgs(argc, argv, &o.args);
  flags.ParseOrExit(static_cast<int>(rest.size()), rest.data());
  absl::Status status;
  bool passed = true;
  if (!o.vectors.empty()) {
    absl::StatusOr<bool> result = RunVectorFile(o);
    status = result.status();
    passed = result.ok() && *result;
  } else if (o.file.empty()) {
    std::cerr << "error: no input: neither FILE nor --vectors is given; see --help\n";
    return 2;
  } else {
    status = RunKernel(o);
  }
  if (!status.ok()) {
    std::cerr << "error: " << status.message() << "\n";
    return 1;
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace tg

int main(int argc, char** argv) { return tg::Main(argc, argv); }
