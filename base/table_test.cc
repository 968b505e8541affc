#include "base/table.h"

#include "base/terminal.h"
#include "gtest/gtest.h"

namespace tg::base {
namespace {

TEST(TableTest, AlignsUnderTheHeader) {
  Table table({{"layer"}, {"weights", Table::kRight}});
  table.AddRow({"conv 5x5", "832"});
  table.AddRow({"linear", "5770"});
  table.AddRule();
  table.AddRow({"all", "6602"});
  EXPECT_EQ(table.ToString(),
            "layer     weights\n"
            "-----------------\n"
            "conv 5x5      832\n"
            "linear       5770\n"
            "-----------------\n"
            "all          6602\n");
}

TEST(TableTest, WithoutHeaderAndWithMissingCells) {
  Table table({{""}, {""}, {""}});
  table.AddRow({"a", "b", "c"});
  table.AddRow({"long"});
  EXPECT_EQ(table.ToString(), "a     b  c\nlong\n");
}

TEST(TableTest, PaintAndUtf8TakeNoExtraRoom) {
  Table table({{"time", Table::kRight}, {"x"}});
  table.AddRow({"5 µs", "1"});
  table.AddRow({Paint("10 ms", Color::kRed, true), "2"});
  EXPECT_EQ(table.ToString(),
            " time  x\n"
            "--------\n"
            " 5 µs  1\n"
            "\033[31m10 ms\033[0m  2\n");
}

TEST(TableTest, EmptyTable) { EXPECT_EQ(Table({{""}}).ToString(), ""); }

TEST(TableDeathTest, TooManyCells) {
  Table table({{"a"}});
  EXPECT_DEATH(table.AddRow({"1", "2"}), "cells.size");
}

}  // namespace
}  // namespace tg::base
