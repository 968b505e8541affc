// The work of MakeForms, in three files: what all encodings share, vector instructions, memory.
#ifndef TG_CODEGEN_ISA_AMD_TABLE_GEN_MAKER_H_
#define TG_CODEGEN_ISA_AMD_TABLE_GEN_MAKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/isa/amd/table_gen_forms.h"
#include "codegen/isa/amd/table_gen_text.h"
#include "codegen/isa/amd/table_gen_token.h"

namespace tg::amd::gen {

class Maker {
 public:
  explicit Maker(const Tables& tables) : tables_(tables) {}

  std::vector<FormDraft> Run();

 private:
  // A form before it is laid out for each instruction set.
  struct Request {
    std::string layout;   // A name of formats.txt,
    std::string overlay;  // and that of a DPP word behind it; empty where there is none.
    std::string suffix;   // Of the mnemonic: "_e64".
    std::vector<Token> operands;
    std::vector<std::string> mods;  // "NAME", or "NAME=VALUE" where the form fixes it.
    int opcode_base = 0;            // Added to the row's opcode. -1: as VOP1 among VOP3.
    int image = 0;                  // FormData::image
    std::string atomic = "kNoAtomic";
    std::string family;  // "VOP2" for v_add_f32_e64.
    bool literal = false;
    bool reads_m0 = false;    // In addition to what the row says.
    bool low_halves = false;  // 16-bit operands have their half in the register's field.
  };

  // Adds the forms of a row.
  void Expand(const Row& row);
  void ExpandVop(const Row& row);
  void ExpandFlat(const Row& row);
  void ExpandSmem(const Row& row);
  void ExpandBuffer(const Row& row);
  void ExpandImage(const Row& row);
  void Pair(const Row& x, const Row& y);  // VOPD

  // Adds forms of an instruction whose one data register is what its row's kind of access says: an
  // atomic gives two, without a result and with one, which overwrites the data.
  void AddAccess(const Row& row, const Request& request, int isas);
  // Of an atomic: fixes the bit that asks for the value before, whatever it is called.
  static void AskForResult(bool result, Request* r);

  // Adds a form for those of `isas` that have the row and the layout; equal ones become one.
  void Add(const Row& row, Request request, int isas);
  void Start(const Row& row, const Layout& layout, const Layout* overlay, FormDraft* f);
  void AddOperand(const Row& row, const Token& t, const Layout& layout, const Layout* overlay,
                  const Request& r, FormDraft* f);
  void AddMod(const Row& row, const std::string& text, const Layout& layout, const Layout* overlay,
              FormDraft* f);
  void Store(FormDraft f);

  // Null: this instruction set has no such layout.
  const Layout* FindLayout(const std::string& name, int isa) const;

  const Tables& tables_;
  std::vector<const Row*> x_, y_;  // Halves of pairs.
  std::vector<FormDraft> forms_;
  size_t row_start_ = 0;  // The row's first form.
};

// Bits of a form: the same in every instruction, or free for a field.
void Fix(const Range& r, uint64_t value, FormDraft* f);
void Free(const Bits& bits, FormDraft* f);
void FreeAt(const std::string& position, FormDraft* f);  // A number; 128 and above: nowhere.

}  // namespace tg::amd::gen

#endif  // TG_CODEGEN_ISA_AMD_TABLE_GEN_MAKER_H_
