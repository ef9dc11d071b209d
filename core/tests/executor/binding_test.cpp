#include "hocket/executor/binding.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>
#include <vector>

#include "hocket/error.hpp"

namespace hocket::executor {
namespace {

Algorithm algorithm(const char* kind, int64_t chunks, bool in_place, int64_t min_bytes = 0, int64_t max_bytes = 0) {
  return {&find_kind(kind), 4, 0, in_place, !in_place, chunks, min_bytes, max_bytes};
}

Request request(const char* kind, int64_t share_bytes, bool in_place, int32_t ranks = 4, int32_t root = -1) {
  return {&find_kind(kind), ranks, root, share_bytes, 4, in_place};
}

TEST(Library, TheFirstOfTheCallsOwnWayServesThenOneOfTheOther) {
  const Library library(
      {algorithm("all_reduce", 4, false), algorithm("all_reduce", 4, true), algorithm("all_reduce", 4, true)});
  EXPECT_EQ(library.find(request("all_reduce", 64, true))->number, 1);
  EXPECT_EQ(library.find(request("all_reduce", 64, false))->number, 0);
  const Library one({algorithm("all_reduce", 4, true)});
  EXPECT_TRUE(one.find(request("all_reduce", 64, false))->in_place);
}

TEST(Library, WhatTheCallsOwnWayLeavesOutIsLeftOut) {
  const Library library({algorithm("all_reduce", 4, false), algorithm("all_reduce", 4, true, 64, 128)});
  EXPECT_EQ(library.find(request("all_reduce", 64, true))->number, 1);
  EXPECT_FALSE(library.find(request("all_reduce", 32, true)));
  EXPECT_EQ(library.find(request("all_reduce", 32, false))->number, 0);
}

TEST(Library, WindowsCountTheSizeOfTheCall) {
  // 3 elements in 4 chunks are padded to 4 elements, 16 bytes, which may be more than any window has
  const Library library({algorithm("all_reduce", 4, true, 0, 15), algorithm("all_reduce", 4, true, 16, 16)});
  EXPECT_EQ(library.find(request("all_reduce", 12, true))->number, 0);
  EXPECT_EQ(library.find(request("all_reduce", 16, true))->number, 1);
  EXPECT_FALSE(library.find(request("all_reduce", 20, true)));
  EXPECT_EQ(library.why_none(request("all_reduce", 20, true)),
            "no program for this size, only for 0 B to 15 B, 16 B to 16 B");
}

TEST(Library, SaysWhyNoneServes) {
  const Library library({algorithm("broadcast", 4, true), algorithm("all_gather", 4, false, 0, -1)});
  EXPECT_FALSE(library.find(request("all_gather", 64, false)));
  EXPECT_EQ(library.why_none(request("all_gather", 64, false)), "no program for this size, only for no size");
  EXPECT_EQ(library.why_none(request("broadcast", 64, true, 4, 2)), "no program for root 2 on 4 ranks");
  EXPECT_EQ(library.why_none(request("all_reduce", 64, true)), "no program for all_reduce on 4 ranks");
  EXPECT_EQ(library.why_none(request("all_reduce", 64, true, 3)), "no program for 3 ranks, only for 4");
}

TEST(Library, IsReadFromItsText) {
  std::istringstream right("1  all_gather 4 0  1 0  8  16 64");
  const Library library = Library::read(right, "index");
  EXPECT_EQ(library[0].kind, &find_kind("all_gather"));
  EXPECT_EQ(library[0].chunk_bytes(20, 4), 12);  // 5 elements of a share in 2 chunks: 3
  for (const char* text : {"", "1", "1 all_gather 4 0 1 0 8 16", "1 all_gather 4 0 1 0 8 16 64 7",
                           "1 everything 4 0 1 0 8 16 64", "1 all_gather 4 0 1 0 2 16 64"}) {
    std::istringstream wrong(text);
    EXPECT_THROW(Library::read(wrong, "index"), FormatError) << text;
  }
}

class Bindings : public testing::Test {
 protected:
  /// Binds and finishes; a program that copies the input to where the output is, for each share of it.
  std::byte* at(std::vector<int32_t>& data, int64_t element = 0) {
    return reinterpret_cast<std::byte*>(data.data() + element);
  }
  Workspace workspace_;
};

TEST_F(Bindings, WholeChunksAreTheCallersOwnMemory) {
  std::vector<int32_t> input(8), output(8);
  const Workspace::Lease lease(workspace_);
  const Binding out(algorithm("all_reduce", 4, false), {0, false}, request("all_reduce", 32, false), 1,
                    {at(input), at(output)}, workspace_);
  EXPECT_EQ(out.buffers()[0], at(input));
  EXPECT_EQ(out.buffers()[1], at(output));
  // the other way: the input is copied into the output, where the program works
  std::iota(input.begin(), input.end(), 1);
  const Binding in(algorithm("all_reduce", 4, true), {0, true}, request("all_reduce", 32, false), 1,
                   {at(input), at(output)}, workspace_);
  EXPECT_EQ(in.buffers()[0], at(output));
  EXPECT_EQ(in.buffers()[1], at(output));
  EXPECT_EQ(output, input);
}

TEST_F(Bindings, APaddedShareIsCopiedAndItsPaddingIsZero) {
  std::vector<int32_t> input{1, 2, 3}, output(12);
  const Workspace::Lease lease(workspace_);
  const Binding binding(algorithm("all_gather", 8, false), {0, false}, request("all_gather", 12, false), 1,
                        {at(input), at(output)}, workspace_);
  const auto* program = reinterpret_cast<const int32_t*>(binding.buffers()[0]);
  EXPECT_EQ(std::vector<int32_t>(program, program + 4), (std::vector<int32_t>{1, 2, 3, 0}));
  auto* gathered = reinterpret_cast<int32_t*>(binding.buffers()[1]);
  std::iota(gathered, gathered + 16, 0);
  binding.finish();
  EXPECT_EQ(output, (std::vector<int32_t>{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14}));
}

TEST_F(Bindings, AnOverlappingInputIsCopiedForAProgramThatMayNotChangeIt) {
  std::vector<int32_t> data{1, 2, 3, 4};
  const Workspace::Lease lease(workspace_);
  const Binding binding(algorithm("all_reduce", 4, false), {0, false}, request("all_reduce", 16, true), 0,
                        {at(data), at(data), true}, workspace_);
  EXPECT_EQ(binding.buffers()[1], at(data));
  EXPECT_NE(binding.buffers()[0], at(data));
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(binding.buffers()[0]), 1);
}

TEST_F(Bindings, AnInPlaceReduceScatterWorksInItsInput) {
  std::vector<int32_t> data(8);
  const Workspace::Lease lease(workspace_);
  const CallerBuffers one{at(data), at(data, 4), true}, two{at(data), at(data, 4), false};
  const Algorithm program = algorithm("reduce_scatter", 4, true);
  EXPECT_EQ(Binding(program, {0, true}, request("reduce_scatter", 8, true), 2, one, workspace_).buffers()[0], at(data));
  // a call that is not in place by NCCL's rule leaves its input as it was
  EXPECT_NE(Binding(program, {0, true}, request("reduce_scatter", 8, true), 2, two, workspace_).buffers()[0], at(data));
}

}  // namespace
}  // namespace hocket::executor
