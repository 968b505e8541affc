#include "drivers/sim/amd/wave/micro_op.h"

#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drivers/sim/amd/wave/aliases.h"
#include "drivers/sim/amd/wave/dpp.h"
#include "drivers/sim/amd/wave/memory_access.h"

namespace tg::amd::sim {
namespace {

using SemanticsMap = absl::flat_hash_map<std::string, const Semantics*>;

std::vector<absl::Span<const Semantics>> AllOps() {
  return {ScalarOps(),       ScalarFloatOps(),  ControlOps(),      VectorIntOps(),
          VectorFloatOps(),  VectorHalfOps(),   VectorDoubleOps(), ConvertOps(),
          CompareOps(),      PackedOps(),       DotOps(),          CrossLaneOps(),
          LdsOps(),          ScalarMemoryOps(), VectorMemoryOps(), MatrixOps(),
          MatrixSparseOps(), ScaledConvertOps()};
}

SemanticsMap MakeMap() {
  SemanticsMap map;
  for (auto ops : AllOps()) {
    for (const Semantics& s : ops) map.emplace(s.name, &s);
  }
  for (const Alias& a : Aliases()) {
    auto it = map.find(a.meaning);
    if (it != map.end()) map.emplace(a.name, it->second);
  }
  return map;
}

bool Is16(DataType t) {
  switch (t) {
    case DataType::kB16:
    case DataType::kI16:
    case DataType::kU16:
    case DataType::kF16:
    case DataType::kPkF16:
      return true;
    default:
      return false;
  }
}

// Packed integers take 32-bit constants. What an inline float or a literal is for an operand of
// this type.
uint64_t ConstantBits(const Operand& o, const OperandSpec& spec) {
  static constexpr uint32_t kFloats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                         0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  static constexpr uint16_t kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                         0xc000, 0x4400, 0xc400, 0x3118};
  bool wide = spec.type == DataType::kF64 ||
              (spec.dwords == 2 && spec.type != DataType::kPkF32 && spec.type != DataType::kPkB32);
  if (o.kind == OperandKind::kInline && o.code >= code::kInlineFloat0) {
    int i = o.code - code::kInlineFloat0;
    if (wide) {
      return i == 8
                 ? 0x3fc45f306dc9c882
                 : std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(kFloats[i])));
    }
    if (spec.type == DataType::kBf16 || spec.type == DataType::kPkBf16) return kFloats[i] >> 16;
    if (Is16(spec.type)) return kHalves[i];
    uint64_t bits = kFloats[i];
    return spec.dwords == 2 ? bits | bits << 32 : bits;
  }
  int64_t value = o.value;
  if (o.kind == OperandKind::kInline || o.kind == OperandKind::kImm) {
    return spec.dwords == 2 && !wide ? static_cast<uint32_t>(value) * 0x100000001u
                                     : static_cast<uint64_t>(value);
  }
  if (!wide) {
    uint64_t bits = static_cast<uint32_t>(value);
    return spec.dwords == 2 ? bits | bits << 32 : bits;
  }
  if (spec.type == DataType::kF64) return static_cast<uint64_t>(value) << 32;
  return spec.type == DataType::kI64 ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
}

// False for registers that are not modelled.
bool Resolve(const Operand& o, const OperandSpec& spec, Isa isa, Source* s) {
  s->dwords = o.dwords;
  s->neg = o.mods & kNeg;
  s->abs = o.mods & kAbs;
  s->sext = o.mods & kSext;
  s->high = o.mods & kHigh;
  switch (o.kind) {
    case OperandKind::kNone:
      return true;
    case OperandKind::kVgpr:
    case OperandKind::kAccVgpr:
      s->kind = Source::Kind::kRow;
      s->index = static_cast<uint16_t>(o.code - code::kVgpr0);
      return true;
    case OperandKind::kInline:
    case OperandKind::kLiteral:
    case OperandKind::kImm:
      s->kind = Source::Kind::kConst;
      s->bits = ConstantBits(o, spec);
      return true;
    case OperandKind::kSgpr:
    case OperandKind::kTtmp:
    case OperandKind::kSpecial:
      break;
  }
  s->kind = Source::Kind::kConst;
  if (IsRdna(isa) && o.code == code::kNullRdna) return true;
  // An aperture's first or last address, 4 GiB apart. 32-bit operands take the lower half, which
  // does not tell apertures apart: compilers read all 64 bits.
  auto aperture = [&](uint32_t high, uint32_t low) {
    s->bits = spec.dwords == 2 ? static_cast<uint64_t>(high) << 32 | low : low;
    return true;
  };
  switch (o.code) {
    case code::kSrcSharedBase:
      return aperture(kSharedAperture, 0);
    case code::kSrcSharedLimit:
      return aperture(kSharedAperture, 0xffffffff);
    case code::kSrcPrivateBase:
      return aperture(kPrivateAperture, 0);
    case code::kSrcPrivateLimit:
      return aperture(kPrivateAperture, 0xffffffff);
    case code::kSrcPopsExitingWaveId:
      return true;
    case code::kSrcVccz:
      s->kind = Source::Kind::kVccz;
      return true;
    case code::kSrcExecz:
      s->kind = Source::Kind::kExecz;
      return true;
    case code::kSrcScc:
      s->kind = Source::Kind::kScc;
      return true;
    default:
      s->kind = Source::Kind::kSgpr;
      s->index = o.code;
      return o.code + o.dwords <= 128;
  }
}

bool ResolveDest(const Operand& o, Isa isa, Dest* d) {
  d->dwords = o.dwords;
  d->high = o.mods & kHigh;
  switch (o.kind) {
    case OperandKind::kVgpr:
    case OperandKind::kAccVgpr:
      d->kind = Dest::Kind::kRow;
      d->index = static_cast<uint16_t>(o.code - code::kVgpr0);
      return true;
    case OperandKind::kSgpr:
    case OperandKind::kTtmp:
    case OperandKind::kSpecial:
      d->kind = Dest::Kind::kSgpr;
      d->index = IsRdna(isa) && o.code == code::kNullRdna ? kTrashSgpr : o.code;
      return o.code < 128;
    default:
      return true;
  }
}

OpClass ClassOf(const Form& form) {
  switch (form.format) {
    case Format::kSop1:
    case Format::kSop2:
    case Format::kSopc:
    case Format::kSopk:
      return OpClass::kSalu;
    case Format::kSopp:
      return absl::StartsWith(form.name, "s_cbranch") || !std::strcmp(form.name, "s_branch")
                 ? OpClass::kBranch
                 : OpClass::kOther;
    case Format::kSmem:
      return OpClass::kSmem;
    case Format::kVop3p:
    case Format::kVop3px2:
      return absl::StrContains(form.name, "mfma") || absl::StrContains(form.name, "wmma") ||
                     absl::StrContains(form.name, "mfmac")
                 ? OpClass::kMatrix
                 : OpClass::kValu;
    case Format::kDs:
      return OpClass::kLds;
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
      return OpClass::kVmem;
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3sd:
    case Format::kVopd:
    case Format::kVinterp:
      return OpClass::kValu;
    default:
      return OpClass::kOther;
  }
}

// Operands from position `begin` to `end`: of an instruction or of half a pair.
bool Fill(const Inst& inst, Isa isa, int begin, int end, MicroOp* u) {
  const Form& form = *inst.form;
  bool select = form.Has(Mod::kOpSel) && form.format != Format::kVop3p;
  uint32_t op_sel = select ? inst.Get(Mod::kOpSel) : 0;
  for (int i = begin; i < end; ++i) {
    const OperandSpec& spec = form.specs[i];
    const Operand& o = inst.operands[i];
    if (spec.role == Role::kDst || spec.role == Role::kDstSrc) {
      if (u->num_dst == 2) return false;
      Dest& d = u->dst[u->num_dst++];
      if (!ResolveDest(o, isa, &d)) return false;
      if (op_sel >> 3 & 1) d.high = true;
      continue;
    }
    if (u->num_src == 5) return false;
    Source& s = u->src[u->num_src];
    if (!Resolve(o, spec, isa, &s)) return false;
    if (op_sel >> u->num_src & 1) s.high = true;
    if (u->sdwa && u->num_src < 2) {
      s.sel = static_cast<uint8_t>(inst.Get(u->num_src == 0 ? Mod::kSrc0Sel : Mod::kSrc1Sel));
    }
    if (u->dpp && u->num_src == 0) s.dpp = true;
    s.plain = s.kind == Source::Kind::kRow && !s.dpp && s.sel == 6 && !s.neg && !s.abs && !s.sext;
    ++u->num_src;
  }
  return true;
}

// Operations that accumulate read their destination after their other sources.
void AppendOldDest(MicroOp* u) {
  if (u->num_dst == 0) return;
  Source& s = u->src[u->num_src];
  const Dest& d = u->dst[0];
  s.kind = d.kind == Dest::Kind::kRow    ? Source::Kind::kRow
           : d.kind == Dest::Kind::kSgpr ? Source::Kind::kSgpr
                                         : Source::Kind::kNone;
  s.index = d.index;
  s.dwords = d.dwords;
  s.high = d.high;
  s.plain = s.kind == Source::Kind::kRow;
}

void Finish(const Semantics& semantics, MicroOp* u) {
  AppendOldDest(u);
  u->run = semantics.run;
  u->float_class = semantics.float_class;
  u->simple_dst = u->num_dst > 0 && u->dst[0].kind == Dest::Kind::kRow && !u->clamp && !u->omod &&
                  !(u->sdwa && u->dst_sel != 6);
}

bool IsMemory(Format f) {
  return f == Format::kDs || f == Format::kFlat || f == Format::kGlobal || f == Format::kScratch ||
         f == Format::kMubuf || f == Format::kSmem;
}

void FillMemory(const Inst& inst, Isa isa, MicroOp* u) {
  MemoryOperands& m = u->memory;
  auto row = [&](OperandName name) -> int16_t {
    const Operand* o = inst.Find(name);
    bool vector =
        o != nullptr && (o->kind == OperandKind::kVgpr || o->kind == OperandKind::kAccVgpr);
    return vector ? static_cast<int16_t>(o->code - code::kVgpr0) : -1;
  };
  auto scalar = [&](OperandName name) -> int16_t {
    const Operand* o = inst.Find(name);
    bool is = o != nullptr && (o->kind == OperandKind::kSgpr || o->kind == OperandKind::kTtmp ||
                               o->kind == OperandKind::kSpecial);
    if (!is || (IsRdna(isa) && o->code == code::kNullRdna) || o->code >= 128) return -1;
    return static_cast<int16_t>(o->code);
  };
  bool lds = inst.form->format == Format::kDs;
  m.vaddr = row(lds ? OperandName::kAddr : OperandName::kVaddr);
  if (m.vaddr >= 0 && !lds) m.vaddr_dwords = inst.Find(OperandName::kVaddr)->dwords;
  m.vdata = row(lds ? OperandName::kData0 : OperandName::kVdata);
  m.vdata1 = row(OperandName::kData1);
  m.vdst = row(OperandName::kVdst);
  m.saddr = scalar(OperandName::kSaddr);
  if (m.saddr < 0) m.saddr = scalar(OperandName::kSbase);
  m.srsrc = scalar(OperandName::kSrsrc);
  m.sdata = scalar(OperandName::kSdata);
  m.offset = inst.form->Has(Mod::kOffset) ? inst.offset() : 0;
}

// The two halves read their sources before either writes.
void RunPair(Wave& w, const MicroOp& u) {
  if (u.shadow) {
    std::memcpy(w.row(kShadowRow), w.row(u.dst[0].index), kRow * sizeof(uint32_t));
  }
  u.first(w, u);
  u.second->run(w, *u.second);
}

const Semantics* FindHalf(std::string_view mnemonic) {  // "v_dual_add_f32"
  constexpr std::string_view kPrefix = "v_dual_";
  if (mnemonic.substr(0, kPrefix.size()) != kPrefix) return nullptr;
  std::string name = absl::StrCat("v_", std::string(mnemonic.substr(kPrefix.size())));
  return FindSemantics(name.c_str());
}

// v_dual_cndmask_b32 has no field for its condition.
void AppendVcc(std::string_view mnemonic, MicroOp* u) {
  if (mnemonic != "v_dual_cndmask_b32" || u->num_src != 2) return;
  u->src[2].kind = Source::Kind::kSgpr;
  u->src[2].index = code::kVccLo;
  u->num_src = 3;
}

bool MakePair(const Inst& inst, Isa isa, MicroOp* u) {
  const Form& form = *inst.form;
  const Semantics* x = FindHalf(form.mnemonic);
  const Semantics* y = FindHalf(SecondMnemonic(form));
  int middle = SecondOperand(form);
  u->second = std::make_unique<MicroOp>();
  if (x == nullptr || y == nullptr || !Fill(inst, isa, 0, middle, u) ||
      !Fill(inst, isa, middle, form.num_operands, u->second.get())) {
    return false;
  }
  u->second->inst = inst;
  u->second->merge16 = u->merge16;
  AppendVcc(form.mnemonic, u);
  AppendVcc(SecondMnemonic(form), u->second.get());
  Finish(*x, u);
  Finish(*y, u->second.get());
  u->first = u->run;
  u->run = RunPair;
  if (u->float_class == FloatClass::kNone) u->float_class = u->second->float_class;
  for (Source& s : u->second->src) {
    if (s.kind != Source::Kind::kRow || s.index != u->dst[0].index) continue;
    s.index = kShadowRow;
    u->shadow = true;
  }
  return true;
}

}  // namespace

const Semantics* FindSemantics(const char* name) {
  static const SemanticsMap* const map = new SemanticsMap(MakeMap());
  auto it = map->find(absl::string_view(name));
  return it == map->end() ? nullptr : it->second;
}

std::vector<const char*> SemanticsNames() {
  std::vector<const char*> names;
  for (auto ops : AllOps()) {
    for (const Semantics& s : ops) names.push_back(s.name);
  }
  return names;
}

std::unique_ptr<MicroOp> MakeMicroOp(const Inst& inst, Isa isa) {
  const Form& form = *inst.form;
  auto u = std::make_unique<MicroOp>();
  u->inst = inst;
  u->size = inst.size;
  u->op_class = ClassOf(form);
  u->merge16 = IsRdna(isa) || absl::StartsWith(form.name, "v_ashr_pk_");
  u->clamp = form.Has(Mod::kClamp) && inst.Get(Mod::kClamp) != 0;
  u->omod = form.Has(Mod::kOmod) ? static_cast<uint8_t>(inst.Get(Mod::kOmod)) : 0;
  u->writes_exec = absl::StartsWith(form.name, "v_cmpx");
  if (form.extra == Extra::kSdwa) {
    u->sdwa = true;
    if (form.Has(Mod::kDstSel)) {
      u->dst_sel = static_cast<uint8_t>(inst.Get(Mod::kDstSel));
      u->dst_unused = static_cast<uint8_t>(inst.Get(Mod::kDstUnused));
    }
  } else if (form.extra != Extra::kNone) {
    u->dpp = MakeDpp(inst, isa);
    if (u->dpp == nullptr) return nullptr;
  }
  if (form.format == Format::kVopd) return MakePair(inst, isa, u.get()) ? std::move(u) : nullptr;
  if (IsMemory(form.format)) {
    FillMemory(inst, isa, u.get());
    MemoryOperands& m = u->memory;
    m.access = FindAccess(form.name);
    if (form.format == Format::kMubuf && m.access != nullptr) {
      // VDATA is the destination of loads, and of atomics that return.
      bool returns = (form.Has(Mod::kGlc) && inst.Get(Mod::kGlc)) ||
                     (form.Has(Mod::kSc0) && inst.Get(Mod::kSc0)) ||
                     (form.Has(Mod::kTh) && (inst.Get(Mod::kTh) & 1));
      bool load = m.access->kind == AccessKind::kLoad;
      if (load || (m.access->kind == AccessKind::kAtomic && returns)) m.vdst = m.vdata;
    }
    u->run = MemoryHandler(form.format, form.name);
    if (u->run != nullptr) return u;
  }
  const Semantics* semantics = FindSemantics(form.name);
  if (semantics == nullptr || !Fill(inst, isa, 0, form.num_operands, u.get())) return nullptr;
  Finish(*semantics, u.get());
  return u;
}

}  // namespace tg::amd::sim
