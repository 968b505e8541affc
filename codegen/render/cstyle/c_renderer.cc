#include "codegen/render/cstyle/c_renderer.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "codegen/render/cstyle/c_prelude.h"
#include "codegen/render/registers.h"

namespace tg::render {
namespace {

using ir::AddrSpace;
using ir::AxisType;
using ir::DType;
using ir::Op;
using ir::ScalarType;
using ir::UOp;

// Longer expressions get a name of their own even if they are used once.
constexpr size_t kMaxInlined = 120;

// Whether the language computes with the type (others are held as their bits).
bool Computes(DType d) {
  return !d.IsVoid() && !d.IsWeak() && !d.IsFp8() && d.scalar() != ScalarType::kBFloat16;
}

class CWriter {
 public:
  CWriter(const lower::LinearProgram& program, const Dialect& dialect)
      : program_(program), dialect_(dialect), prelude_(dialect) {}

  absl::StatusOr<std::string> Run();

 private:
  struct Memory {
    DType dtype;
    std::string name;
    bool is_register = false;
    bool is_const = false;
    std::vector<std::pair<RegisterPiece, std::string>> pieces;
  };
  struct Access {
    const Memory* memory;
    UOp index;
    UOp gate;
  };

  absl::Status Unsupported(const UOp& u) const;
  absl::Status Broken(const UOp& u, absl::string_view why) const;

  void CountUses();
  absl::Status Declare();
  absl::Status Emit(const UOp& u);
  absl::Status EmitRange(const UOp& u);
  absl::Status EmitEnd(const UOp& u);
  absl::Status EmitLoad(const UOp& u);
  absl::Status EmitStore(const UOp& u);
  absl::Status EmitStack(const UOp& u);
  absl::Status EmitReduce(const UOp& u);
  absl::Status EmitCustom(const UOp& u);
  absl::Status EmitElementwise(const UOp& u);
  absl::StatusOr<std::string> Alu(const UOp& u);
  absl::StatusOr<std::string> Constant(const UOp& u);

  absl::StatusOr<Access> Decode(const UOp& u);
  std::string Address(const Access& a);
  // An lvalue for `d` at the access; "" where its lanes must be accessed one by one.
  std::string Place(const Access& a, DType d, bool writes);

  const std::string& Text(const UOp& u) const { return text_.at(u.id()); }
  // Every source that is a value has been written before.
  absl::Status CheckSources(const UOp& u) const;
  // Names the value, or keeps the expression for its one use.
  void Define(const UOp& u, std::string expression, const char* prefix, bool may_inline = true);
  void Line(absl::string_view text) {
    body_.append(2 * (1 + depth_.size()), ' ');
    absl::StrAppend(&body_, text, "\n");
  }

  const lower::LinearProgram& program_;
  const Dialect& dialect_;
  CPrelude prelude_;
  std::string body_;
  std::vector<UOp> depth_;
  std::vector<KernelParameter> parameters_;
  absl::flat_hash_map<const void*, std::string> text_;
  absl::flat_hash_map<const void*, Memory> memory_;
  absl::flat_hash_map<const void*, int> uses_;
  absl::flat_hash_map<const void*, bool> same_scope_;
  absl::flat_hash_map<std::string, int> counters_;
};

absl::Status CWriter::Unsupported(const UOp& u) const {
  std::string types = absl::StrJoin(u.src(), ", ", [](std::string* out, const UOp& s) {
    absl::StrAppend(out, s.dtype().ToString());
  });
  return absl::UnimplementedError(absl::StrCat(dialect_.name, ": ", program_.name, ": no form for ",
                                               ir::OpName(u.op()), " of ", u.dtype().ToString(),
                                               "(", types, ")"));
}

absl::Status CWriter::Broken(const UOp& u, absl::string_view why) const {
  return absl::InternalError(absl::StrCat(dialect_.name, ": ", program_.name, ": ",
                                          ir::OpName(u.op()), " of ", u.dtype().ToString(), ": ",
                                          why));
}

// How often each value is used, and whether only in the scope that makes it. Addresses are written
// into their accesses, so an access uses what its address does.
void CWriter::CountUses() {
  absl::flat_hash_map<const void*, int> scope_of;
  std::vector<int> open = {0};
  int scopes = 0;
  const auto use = [&](const UOp& s) {
    ++uses_[s.id()];
    auto it = scope_of.find(s.id());
    if (it == scope_of.end() || it->second != open.back()) same_scope_[s.id()] = false;
  };
  for (const UOp& u : program_.ops) {
    if (u.Is(Op::kIndex) || u.Is(Op::kAfter) || u.Is(Op::kSink) || u.Is(Op::kGroup)) continue;
    for (const UOp& s : u.src()) {
      if (s.Is(Op::kIndex)) {
        for (int i = 1; i < s.src_count(); ++i) use(s.src(i));
      } else {
        use(s);
      }
    }
    if (u.Is(Op::kIf) || (u.Is(Op::kRange) && u.arg_as<ir::RangeArg>().type != AxisType::kThread)) {
      open.push_back(++scopes);
    } else if (u.Is(Op::kEndIf) && open.size() > 1) {
      open.pop_back();
    } else if (u.Is(Op::kEnd)) {
      for (int i = 1; i < u.src_count() && open.size() > 1; ++i) open.pop_back();
    }
    scope_of[u.id()] = open.back();
  }
}

absl::Status CWriter::CheckSources(const UOp& u) const {
  for (const UOp& s : u.src()) {
    if (!text_.contains(s.id())) return Broken(u, "a source that is not listed before it");
  }
  return absl::OkStatus();
}

void CWriter::Define(const UOp& u, std::string expression, const char* prefix, bool may_inline) {
  const bool once = uses_[u.id()] <= 1 && !same_scope_.contains(u.id());
  if (may_inline && once && expression.size() <= kMaxInlined) {
    text_[u.id()] = std::move(expression);
    return;
  }
  std::string name = absl::StrCat(prefix, counters_[prefix]++);
  Line(absl::StrCat(prelude_.Type(u.dtype()), " ", name, " = ", expression, ";"));
  text_[u.id()] = std::move(name);
}

absl::Status CWriter::Declare() {
  std::vector<bool> written(program_.params.size());
  for (const UOp& u : program_.ops) {
    if (u.Is(Op::kStore) && u.src(0).Is(Op::kIndex)) {
      const UOp& memory = MemoryOf(u.src(0));
      if (memory.Is(Op::kParam)) {
        const int slot = memory.arg_as<ir::ParamArg>().slot;
        if (slot >= 0 && slot < static_cast<int>(written.size())) written[slot] = true;
      }
    }
  }
  // A slot that the program does not touch has no parameter.
  std::vector<KernelParameter> by_slot(program_.params.size());
  for (const UOp& u : program_.ops) {
    if (u.Is(Op::kParam)) {
      const int slot = u.arg_as<ir::ParamArg>().slot;
      if (slot < 0 || slot >= static_cast<int>(by_slot.size())) {
        return Broken(u, absl::StrCat("slot ", slot, " of ", by_slot.size()));
      }
      if (prelude_.ElementType(u.dtype()).empty()) return Unsupported(u);
      Memory& m = memory_[u.id()];
      m.dtype = u.dtype().Scalar();
      m.name = absl::StrCat("data", slot);
      m.is_const = !written[slot];
      by_slot[slot] = {absl::StrCat(m.is_const ? "const " : "", dialect_.parameter_space,
                                    prelude_.ElementType(u.dtype()), "* ",
                                    dialect_.restrict_keyword, " ", m.name),
                       absl::StrCat("buffers[", slot, "]")};
    } else if (u.Is(Op::kBuffer)) {
      const ir::BufferArg& arg = u.arg_as<ir::BufferArg>();
      const std::string element = prelude_.ElementType(u.dtype());
      if (arg.space == AddrSpace::kGlobal || element.empty()) return Unsupported(u);
      Memory& m = memory_[u.id()];
      m.dtype = u.dtype().Scalar();
      if (arg.space == AddrSpace::kLocal) {
        m.name = absl::StrCat("buf", counters_["buf"]++);
        Line(absl::StrCat(dialect_.local_space, element, " ", m.name, "[", arg.size, "];"));
        continue;
      }
      m.is_register = true;
      auto pieces = FindRegisterPieces(program_, u);
      if (!pieces.ok()) return pieces.status();
      for (const RegisterPiece& p : *pieces) {
        const std::string name = absl::StrCat("acc", counters_["acc"]++);
        const int64_t length = p.end - p.begin;
        if (p.exact) {
          Line(absl::StrCat(prelude_.Type(m.dtype.Vec(static_cast<int>(length))), " ", name, ";"));
        } else {
          Line(absl::StrCat(element, " ", name, "[", length, "];"));
        }
        m.pieces.push_back({p, name});
      }
    }
  }
  for (KernelParameter& p : by_slot) {
    if (!p.declaration.empty()) parameters_.push_back(std::move(p));
  }
  for (size_t i = 0; i < program_.variables.size(); ++i) {
    const std::string& name = program_.variables[i].arg_as<ir::VariableArg>().name;
    parameters_.push_back({absl::StrCat("const long ", name), absl::StrCat("vars[", i, "]")});
  }
  parameters_.push_back({"const long core_id", "core_id"});
  return absl::OkStatus();
}

absl::StatusOr<std::string> CWriter::Constant(const UOp& u) {
  const DType d = u.dtype();
  if (d.IsWeak() || d.IsVoid() || u.IsInvalid()) return Unsupported(u);
  const std::string type = prelude_.Type(d.Scalar());
  std::string text;
  if (d.IsFloat() && !Computes(d)) {
    text = absl::StrFormat("0x%xu", ir::EncodeFloat(u.const_float(), d));
  } else if (d.IsFloat()) {
    const double v = u.const_float();
    const bool is_double = d.scalar() == ScalarType::kFloat64;
    if (std::isnan(v)) {
      text = is_double ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
    } else if (std::isinf(v)) {
      text = absl::StrCat(v < 0 ? "-" : "", is_double ? "__builtin_inf()" : "__builtin_inff()");
    } else {
      text = absl::StrFormat("%.*g", is_double ? 17 : 9, v);
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      if (!is_double) text += "f";
    }
    if (d.scalar() == ScalarType::kFloat16) text = absl::StrCat("(", type, ")", text);
    if (text[0] == '-') text = absl::StrCat("(", text, ")");
  } else {
    const int64_t v = u.const_int();
    if (d.scalar() == ScalarType::kUInt64) {
      text = absl::StrCat(static_cast<uint64_t>(v), "ul");
    } else if (d.scalar() == ScalarType::kInt64) {
      text = v == INT64_MIN ? "(-9223372036854775807l-1)" : absl::StrCat(v, "l");
    } else if (d.scalar() == ScalarType::kUInt32) {
      text = absl::StrCat(v, "u");
    } else if (d.scalar() == ScalarType::kInt32 || d.IsBool()) {
      text = v == INT32_MIN ? "(-2147483647-1)" : absl::StrCat(v);
    } else {
      text = absl::StrCat("((", type, ")", v, ")");
    }
    if (text[0] == '-') text = absl::StrCat("(", text, ")");
  }
  return d.lanes() == 1 ? text : absl::StrCat("(", prelude_.Type(d), ")(", text, ")");
}

absl::StatusOr<CWriter::Access> CWriter::Decode(const UOp& u) {
  const UOp& address = u.src(0);
  if (!address.Is(Op::kIndex) || address.src_count() < 2)
    return Broken(u, "its address is no Index");
  const auto it = memory_.find(MemoryOf(address).id());
  if (it == memory_.end()) return Broken(u, "memory that is not listed before it");
  Access a{&it->second, address.src(1), UOp()};
  if (!text_.contains(a.index.id())) return Broken(u, "an index that is not listed before it");
  if (address.src_count() > 2) {
    a.gate = address.src(2);
    if (!text_.contains(a.gate.id())) return Broken(u, "a gate that is not listed before it");
    if (a.gate.IsConstInt(1)) a.gate = UOp();
  }
  const DType value = u.Is(Op::kLoad) ? u.dtype() : u.src(1).dtype();
  if (value.Scalar() != a.memory->dtype) return Broken(u, "memory of another type");
  const auto fits = [&](const UOp& s) {
    return s.dtype().lanes() == 1 || s.dtype().lanes() == value.lanes();
  };
  if (!fits(a.index) || (a.gate && !fits(a.gate))) {
    return Broken(u, "lanes of value, index and gate differ");
  }
  if (a.memory->is_register && !a.index.IsConst())
    return Broken(u, "a register index is no constant");
  return a;
}

std::string CWriter::Address(const Access& a) {
  if (a.index.dtype().lanes() > 1) return a.memory->name;
  if (!a.memory->is_register) return absl::StrCat("(", a.memory->name, "+", Text(a.index), ")");
  const int64_t element = a.index.const_int();
  for (const auto& [piece, name] : a.memory->pieces) {
    if (element < piece.begin || element >= piece.end) continue;
    if (piece.exact)
      return absl::StrCat("((", prelude_.ElementType(a.memory->dtype), "*)&", name, ")");
    return absl::StrCat("(", name, "+", element - piece.begin, ")");
  }
  return "0";
}

std::string CWriter::Place(const Access& a, DType d, bool writes) {
  if (a.index.dtype().lanes() > 1 || (a.gate && a.gate.dtype().lanes() > 1)) return "";
  if (a.memory->is_register) {
    const int64_t element = a.index.const_int();
    for (const auto& [piece, name] : a.memory->pieces) {
      if (element >= piece.begin && element < piece.end && piece.exact) return name;
    }
  }
  // A vector type of an odd number of lanes is larger than its lanes.
  if ((d.lanes() & (d.lanes() - 1)) != 0) return "";
  std::string address = Address(a);
  if (d.lanes() == 1) {
    return a.memory->is_register ? absl::StrCat("*", address)
                                 : absl::StrCat(a.memory->name, "[", Text(a.index), "]");
  }
  const char* qualifier = writes || !a.memory->is_const ? "" : "const ";
  const std::string space = a.memory->name.rfind("data", 0) == 0 ? dialect_.parameter_space : "";
  return absl::StrCat("*(", qualifier, space, prelude_.MemoryType(d), "*)", address);
}

absl::Status CWriter::EmitLoad(const UOp& u) {
  auto a = Decode(u);
  if (!a.ok()) return a.status();
  const DType d = u.dtype();
  std::string alternative;
  if (a->gate) {
    if (u.src_count() > 1) {
      if (!text_.contains(u.src(1).id()) || u.src(1).dtype() != d)
        return Broken(u, "its alternative");
      alternative = Text(u.src(1));
    } else {
      auto zero = Constant(ir::Const(d, 0));
      if (!zero.ok()) return zero.status();
      alternative = *zero;
    }
  }
  std::string value = Place(*a, d, /*writes=*/false);
  if (!value.empty()) {
    const bool is_value = a->memory->is_register && value[0] != '*';
    if (d.IsBool() && !is_value) value = prelude_.Cast(value, ir::kUInt8.Vec(d.lanes()), d);
    if (a->gate) {
      value = absl::StrCat("(", Text(a->gate), "?", value, ":", alternative, ")");
    }
  } else {
    const bool vector_index = a->index.dtype().lanes() > 1;
    std::string gate = a->gate ? Text(a->gate) : "";
    if (a->gate && a->gate.dtype().lanes() == 1 && d.lanes() > 1) {
      gate = absl::StrCat("(", prelude_.Type(ir::kBool.Vec(d.lanes())), ")((unsigned char)(", gate,
                          "))");
    }
    value = prelude_.LoadLanes(Address(*a), vector_index ? Text(a->index) : "", a->index.dtype(),
                               gate, alternative, d);
  }
  Define(u, std::move(value), "val", /*may_inline=*/false);
  return absl::OkStatus();
}

absl::Status CWriter::EmitStore(const UOp& u) {
  auto a = Decode(u);
  if (!a.ok()) return a.status();
  if (!text_.contains(u.src(1).id())) return Broken(u, "a value that is not listed before it");
  const DType d = u.src(1).dtype();
  const bool scalar_gate = a->gate && a->gate.dtype().lanes() == 1;
  const std::string guard = scalar_gate ? absl::StrCat("if (", Text(a->gate), ") ") : "";
  const std::string place = Place(*a, d, /*writes=*/true);
  if (!place.empty()) {
    Line(absl::StrCat(guard, place, " = ", Text(u.src(1)), ";"));
  } else {
    const bool vector_index = a->index.dtype().lanes() > 1;
    Line(absl::StrCat(
        guard,
        prelude_.StoreLanes(Address(*a), vector_index ? Text(a->index) : "", a->index.dtype(),
                            a->gate && !scalar_gate ? Text(a->gate) : "", Text(u.src(1)), d),
        ";"));
  }
  return absl::OkStatus();
}

absl::Status CWriter::EmitRange(const UOp& u) {
  const DType d = u.dtype();
  if (!d.IsInt() || d.IsWeak() || d.lanes() != 1) return Unsupported(u);
  const ir::RangeArg& arg = u.arg_as<ir::RangeArg>();
  const std::string type = prelude_.Type(d);
  if (arg.type == AxisType::kThread) {
    text_[u.id()] = dialect_.convert("core_id", type, 1);
    return absl::OkStatus();
  }
  if (!text_.contains(u.src(0).id())) return Broken(u, "a size that is not listed before it");
  // Loops over outputs are plain "idx"; others say what they are.
  const std::string letter(arg.type == AxisType::kLoop ? 0 : 1, ir::AxisTypeLetter(arg.type));
  const std::string name = absl::StrCat(letter, "idx", arg.id);
  Line(absl::Substitute("for ($0 $1 = 0; $1 < $2; $1++) {", type, name, Text(u.src(0))));
  text_[u.id()] = name;
  depth_.push_back(u);
  return absl::OkStatus();
}

absl::Status CWriter::EmitEnd(const UOp& u) {
  for (int i = u.src_count() - 1; i >= 1; --i) {
    if (!u.src(i).Is(Op::kRange)) return Broken(u, "it closes what is no range");
    if (u.src(i).arg_as<ir::RangeArg>().type == AxisType::kThread) continue;
    if (depth_.empty() || !(depth_.back() == u.src(i))) {
      return Broken(u, "it closes a range that is not the innermost open one");
    }
    depth_.pop_back();
    Line("}");
  }
  return absl::OkStatus();
}

absl::Status CWriter::EmitStack(const UOp& u) {
  const DType d = u.dtype();
  if (absl::Status s = CheckSources(u); !s.ok()) return s;
  if (u.src_count() != d.lanes()) return Broken(u, "lanes and sources differ in number");
  bool splat = true;
  for (const UOp& s : u.src()) {
    if (s.dtype() != d.Scalar()) return Broken(u, "a lane of another type");
    splat = splat && s == u.src(0);
  }
  if (d.lanes() == 1) {
    text_[u.id()] = Text(u.src(0));
    return absl::OkStatus();
  }
  const std::string type = prelude_.Type(d);
  if (splat) {
    // The cast of a _Bool to a vector of bytes would splat its bits.
    Define(u,
           absl::StrCat("(", type, ")(", d.IsBool() ? "(unsigned char)" : "", Text(u.src(0)), ")"),
           "cast");
    return absl::OkStatus();
  }
  Define(u,
         absl::StrCat("(", type, "){",
                      absl::StrJoin(u.src(), ", ",
                                    [this](std::string* out, const UOp& s) { *out += Text(s); }),
                      "}"),
         "cast");
  return absl::OkStatus();
}

absl::Status CWriter::EmitReduce(const UOp& u) {
  if (absl::Status s = CheckSources(u); !s.ok()) return s;
  const Op op = u.arg_as<ir::ReduceArg>().op;
  const DType source = u.src(0).dtype();
  if (u.src_count() != 1 || u.dtype() != source.Scalar() || !Computes(u.dtype()) ||
      (op != Op::kAdd && op != Op::kMul && op != Op::kMax)) {
    return Unsupported(u);
  }
  if (source.lanes() == 1) {
    text_[u.id()] = Text(u.src(0));
  } else {
    Define(u, prelude_.Reduce(op, Text(u.src(0)), source), "alu");
  }
  return absl::OkStatus();
}

absl::Status CWriter::EmitCustom(const UOp& u) {
  if (absl::Status s = CheckSources(u); !s.ok()) return s;
  std::vector<std::pair<std::string, std::string>> sources;
  for (int i = 0; i < u.src_count(); ++i) {
    sources.push_back({absl::StrCat("{", i, "}"), Text(u.src(i))});
  }
  std::string text = absl::StrReplaceAll(u.arg_as<std::string>(), sources);
  if (u.dtype().IsVoid()) {
    Line(text);
  } else {
    Define(u, std::move(text), "alu", u.Is(Op::kCustomI));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CWriter::Alu(const UOp& u) {
  if (u.Is(Op::kWhere)) {
    const std::string &c = Text(u.src(0)), &x = Text(u.src(1)), &y = Text(u.src(2));
    if (u.src(0).dtype().lanes() == 1) return absl::StrCat("(", c, "?", x, ":", y, ")");
    return prelude_.Select(c, x, y, u.dtype());
  }
  const DType d = u.src(0).dtype();
  if (!Computes(d)) return Unsupported(u);
  const bool is_float = d.IsFloat(), is_bool = d.IsBool();
  const std::string& x = Text(u.src(0));
  const std::string y = u.src_count() > 1 ? Text(u.src(1)) : "";
  // C computes with narrow scalars as ints; the result has the width of the type.
  const auto narrow = [&](std::string text) {
    return d.lanes() == 1 && !is_float && d.bits() < 32
               ? dialect_.convert(text, prelude_.Type(d), 1)
               : absl::StrCat("(", text, ")");
  };
  const auto infix = [&](const char* sign) { return narrow(absl::StrCat(x, sign, y)); };
  switch (u.op()) {
    case Op::kExp2:
    case Op::kLog2:
    case Op::kSin:
    case Op::kSqrt:
      if (!is_float) return Unsupported(u);
      return dialect_.math(u.op(), {x});
    case Op::kPow:
      if (!is_float) return Unsupported(u);
      return dialect_.math(u.op(), {x, y});
    case Op::kTrunc:
      return is_float ? dialect_.math(u.op(), {x}) : x;
    case Op::kReciprocal:
      if (!is_float) return Unsupported(u);
      return absl::StrCat("(", *Constant(ir::Const(d, 1.0)), "/", x, ")");
    case Op::kFdiv:
      if (!is_float) return Unsupported(u);
      return infix("/");
    case Op::kNeg:
      return is_bool ? narrow(absl::StrCat(x, "^1")) : narrow(absl::StrCat("-", x));
    case Op::kAdd:
      return infix(is_bool ? "|" : "+");
    case Op::kSub:
      return infix(is_bool ? "^" : "-");
    case Op::kMul:
      return infix(is_bool ? "&" : "*");
    case Op::kMulAcc:
      if (is_float) return dialect_.math(u.op(), {x, y, Text(u.src(2))});
      return narrow(is_bool ? absl::StrCat("(", x, "&", y, ")|", Text(u.src(2)))
                            : absl::StrCat("(", x, "*", y, ")+", Text(u.src(2))));
    case Op::kMax:
      return is_bool ? infix("|") : prelude_.Max(x, y, d);
    case Op::kCmpLt:
      return prelude_.FromComparison(absl::StrCat("(", x, "<", y, ")"), d);
    case Op::kCmpNe:
      return prelude_.FromComparison(absl::StrCat("(", x, "!=", y, ")"), d);
    case Op::kCmpEq:
      return prelude_.FromComparison(absl::StrCat("(", x, "==", y, ")"), d);
    default:
      break;
  }
  if (is_float) return Unsupported(u);
  switch (u.op()) {
    case Op::kXor:
      return infix("^");
    case Op::kOr:
      return infix("|");
    case Op::kAnd:
      return infix("&");
    default:
      break;
  }
  if (is_bool) return Unsupported(u);
  switch (u.op()) {
    case Op::kShl:
      return infix("<<");
    case Op::kShr:
      return infix(">>");
    case Op::kCdiv:
    case Op::kCmod:
    case Op::kFloorDiv:
    case Op::kFloorMod: {
      const ir::Bounds &n = u.src(0).bounds(), &m = u.src(1).bounds();
      const bool safe = m.min > 0 || (d.IsUnsigned() && m.max < 0) || m.max < -1;
      const bool truncates =
          u.Is(Op::kCdiv) || u.Is(Op::kCmod) || d.IsUnsigned() || (n.min >= 0 && m.min > 0);
      if (safe && truncates) {
        return infix(u.Is(Op::kCdiv) || u.Is(Op::kFloorDiv) ? "/" : "%");
      }
      return prelude_.Divide(u.op(), x, y, d);
    }
    default:
      return Unsupported(u);
  }
}

absl::Status CWriter::EmitElementwise(const UOp& u) {
  if (absl::Status s = CheckSources(u); !s.ok()) return s;
  const DType d = u.dtype();
  if (u.Is(Op::kCast) || u.Is(Op::kBitcast)) {
    const DType from = u.src(0).dtype();
    if (prelude_.ElementType(d).empty() || prelude_.ElementType(from).empty())
      return Unsupported(u);
    if (u.Is(Op::kCast) ? from.lanes() != d.lanes() : from.size() != d.size()) {
      return Broken(u, "source and result differ in size");
    }
    Define(u,
           u.Is(Op::kCast) ? prelude_.Cast(Text(u.src(0)), from, d)
                           : prelude_.Bitcast(Text(u.src(0)), from, d),
           "cast");
    return absl::OkStatus();
  }
  auto text = Alu(u);
  if (!text.ok()) return text.status();
  Define(u, *std::move(text), "alu");
  return absl::OkStatus();
}

absl::Status CWriter::Emit(const UOp& u) {
  switch (u.op()) {
    case Op::kParam:
    case Op::kBuffer:
    case Op::kIndex:
    case Op::kSink:
    case Op::kGroup:
    case Op::kAfter:
      return absl::OkStatus();
    case Op::kNoop:
      if (u.src_count() == 1 && text_.contains(u.src(0).id())) text_[u.id()] = Text(u.src(0));
      return absl::OkStatus();
    case Op::kBarrier:
      if (!dialect_.barrier.empty()) Line(dialect_.barrier);
      return absl::OkStatus();
    case Op::kConst: {
      auto text = Constant(u);
      if (!text.ok()) return text.status();
      text_[u.id()] = *std::move(text);
      return absl::OkStatus();
    }
    case Op::kVariable:
      if (!u.dtype().IsInt() || u.dtype().IsWeak()) return Unsupported(u);
      text_[u.id()] =
          dialect_.convert(u.arg_as<ir::VariableArg>().name, prelude_.Type(u.dtype()), 1);
      return absl::OkStatus();
    case Op::kRange:
      return EmitRange(u);
    case Op::kEnd:
      return EmitEnd(u);
    case Op::kIf:
      if (absl::Status s = CheckSources(u); !s.ok()) return s;
      if (u.src(0).dtype() != ir::kBool) return Broken(u, "no scalar bool");
      Line(absl::StrCat("if (", Text(u.src(0)), ") {"));
      depth_.push_back(u);
      return absl::OkStatus();
    case Op::kEndIf:
      if (depth_.empty() || !(depth_.back() == u.src(0))) {
        return Broken(u, "it closes an If that is not the innermost open scope");
      }
      depth_.pop_back();
      Line("}");
      return absl::OkStatus();
    case Op::kStack:
      return EmitStack(u);
    case Op::kLane: {
      if (absl::Status s = CheckSources(u); !s.ok()) return s;
      const int64_t lane = u.arg_as<int64_t>();
      if (lane < 0 || lane >= u.src(0).dtype().lanes()) return Broken(u, "no such lane");
      text_[u.id()] = u.src(0).dtype().lanes() == 1
                          ? Text(u.src(0))
                          : absl::StrCat("(", Text(u.src(0)), ")[", lane, "]");
      return absl::OkStatus();
    }
    case Op::kReduce:
      return EmitReduce(u);
    case Op::kLoad:
      return EmitLoad(u);
    case Op::kStore:
      return EmitStore(u);
    case Op::kCustom:
    case Op::kCustomI:
      return EmitCustom(u);
    default:
      return ir::IsElementwise(u.op()) ? EmitElementwise(u) : Unsupported(u);
  }
}

absl::StatusOr<std::string> CWriter::Run() {
  CountUses();
  if (absl::Status s = Declare(); !s.ok()) return s;
  for (const UOp& u : program_.ops) {
    if (absl::Status s = Emit(u); !s.ok()) return s;
  }
  if (!depth_.empty()) return Broken(depth_.back(), "it is never closed");
  return absl::StrCat(prelude_.text(), dialect_.open_kernel(program_, parameters_), body_,
                      dialect_.close_kernel(program_, parameters_));
}

}  // namespace

absl::StatusOr<std::string> RenderC(const lower::LinearProgram& program, const Dialect& dialect) {
  return CWriter(program, dialect).Run();
}

}  // namespace tg::render
