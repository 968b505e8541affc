// Listings of AMD machine code: lines, branch arrows, colours. For tools that show code to people.
#ifndef TG_TOOLS_AMD_LISTING_H_
#define TG_TOOLS_AMD_LISTING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/isa/amd/arch.h"

namespace tg::tools {

struct ListingLine {
  uint64_t address = 0;
  absl::Span<const uint8_t> bytes;  // Of the listed code, which must live on.
  std::string text;                 // White space single; what is no instruction is a .long line.
  bool instruction = false;
  bool scalar = false;             // s_...
  std::optional<uint64_t> target;  // Where a branch with a constant distance goes.
};

// Every byte of `code` in order; the first one is at `address`.
std::vector<ListingLine> ListCode(absl::Span<const uint8_t> code, uint64_t address, amd::Arch arch);

struct ListingStyle {
  bool color = false;
  bool addresses = true;
  bool words = true;   // The code in hexadecimal, as 32-bit words.
  bool arrows = true;  // From branches to where they go.
};

// Names by address.
using ListingLabels = std::map<uint64_t, std::string>;

// Adds a name (".L1c") for each line that is a branch's target and has none.
void AddBranchLabels(absl::Span<const ListingLine> lines, ListingLabels* labels);

// One line of text for each line, and one for each label.
std::string RenderListing(absl::Span<const ListingLine> lines, const ListingLabels& labels,
                          const ListingStyle& style);

// "0009bebf<tab>s_nop 0": bytes in memory order.
std::string RenderPlain(absl::Span<const ListingLine> lines);

}  // namespace tg::tools

#endif  // TG_TOOLS_AMD_LISTING_H_
