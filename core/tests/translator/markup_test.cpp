#include "hocket/translator/markup.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hocket::translator {
namespace {

using namespace std::string_view_literals;

/// The attributes of an element as `key=value` pairs in their order.
std::string attributes(const Markup& markup, int64_t element) {
  std::string found;
  for (size_t a = 0; a < markup.element.size(); a++) {
    if (markup.element[a] != element) continue;
    found += std::string(markup.strings[markup.key[a]]) + "=" + std::string(markup.strings[markup.value[a]]) + " ";
  }
  return found;
}

TEST(Markup, KeepsTheLevelsThatLoadersKeep) {
  const Markup markup = read_markup(
      "<!-- first --><algo name=\"a\" proto=\"LL\">\n<gpu id=\"0\"><tb id=\"1\"><step s=\"0\"/><step s=\"1\"></step>"
      "</tb></gpu><note x=\"1\"><gpu id=\"1\"/></note></algo>");
  EXPECT_EQ(markup.stop, Stop::kNone);
  EXPECT_EQ(markup.level, (std::vector<uint8_t>{0, 1, 2, 3, 3, 4, 4}));
  EXPECT_EQ(markup.parent, (std::vector<int64_t>{-1, 0, 1, 2, 2, 0, 5}));
  EXPECT_EQ(markup.depth, 4);
  EXPECT_EQ(attributes(markup, 0), "name=a proto=LL ");
  EXPECT_EQ(attributes(markup, 4), "s=1 ");
  EXPECT_EQ(attributes(markup, 6), "");  // of what is skipped nothing is kept
}

TEST(Markup, NumbersEachStringOnce) {
  // equal values in one place of neighbouring elements, in other places, and again after others
  const Markup markup = read_markup("<algo a=\"1\" b=\"1\"><gpu a=\"1\" b=\"2\"/><gpu b=\"1\" a=\"2\"/></algo>");
  EXPECT_EQ(markup.strings, (std::vector<std::string_view>{"a", "1", "b", "2"}));
  EXPECT_EQ(attributes(markup, 2), "b=1 a=2 ");
}

TEST(Markup, SeesWhatLoadersOverlook) {
  const Markup markup = read_markup("<algo><gpu><tb><step><x/></step></tb></gppu></algo>");
  EXPECT_EQ(markup.stop, Stop::kNone);
  EXPECT_EQ(markup.flaws, (std::vector<uint8_t>{0, kClosedByOtherName, 0, kHasChild, 0}));
  std::string many = "<algo";
  for (int a = 0; a < 17; a++) many += " a" + std::to_string(a) + "=\"\"";
  EXPECT_EQ(read_markup(many + "/>").flaws[0], kDroppedAttributes);
  EXPECT_EQ(read_markup(many + "/>").element.size(), 16u);
}

TEST(Markup, EndsStringsAtANul) {
  const Markup markup = read_markup("<algo name=\"ab\0cd\" co\0l=\"x\"/>"sv);
  EXPECT_EQ(attributes(markup, 0), "name=ab co=x ");
}

TEST(Markup, SaysWhereItStops) {
  const auto stop = [](std::string_view text) {
    const Markup markup = read_markup(text);
    return std::pair(markup.stop, markup.stopped_at);
  };
  EXPECT_EQ(stop(""), std::pair(Stop::kNone, int64_t{0}));
  EXPECT_EQ(stop(" text"), std::pair(Stop::kTextOutside, int64_t{1}));
  EXPECT_EQ(stop("<algo>\t</algo>"), std::pair(Stop::kTextOutside, int64_t{6}));
  EXPECT_EQ(stop("<algo>"), std::pair(Stop::kUnclosed, int64_t{0}));
  EXPECT_EQ(stop("<algo><gpu"), std::pair(Stop::kEndOfFile, int64_t{6}));
  EXPECT_EQ(stop("<algo a=1/>"), std::pair(Stop::kUnquotedValue, int64_t{0}));
  EXPECT_EQ(stop("<algo=\"1\"/>"), std::pair(Stop::kValueWithoutAttribute, int64_t{0}));
  EXPECT_EQ(stop("<algo a=\"1"), std::pair(Stop::kEndOfFile, int64_t{0}));
  EXPECT_EQ(stop("<algo a=\"1\"\n>"), std::pair(Stop::kBrokenElement, int64_t{0}));
  EXPECT_EQ(stop("<!-- never"), std::pair(Stop::kEndOfFile, int64_t{0}));
  EXPECT_EQ(stop("<" + std::string(300, 'a') + "/>"), std::pair(Stop::kLongName, int64_t{0}));
}

TEST(Markup, ReadsOrStopsAtAnyDamage) {
  const std::string whole =
      "<algo name=\"a\" coll=\"b\">\n<gpu id=\"0\"><tb id=\"0\" chan=\"0\"><step s=\"0\"/></tb></gpu></algo>";
  for (size_t at = 0; at < whole.size(); at++) {
    for (const char damage : "<>/=\"' \n\0-!"sv) {
      std::string text = whole;
      text[at] = damage;
      for (const std::string& one : {text, text.substr(0, at), text.substr(at)}) {
        const Markup markup = read_markup(one);
        ASSERT_EQ(markup.level.size(), markup.parent.size());
        for (const int32_t value : markup.value) ASSERT_LT(static_cast<size_t>(value), markup.strings.size());
      }
    }
  }
}

}  // namespace
}  // namespace hocket::translator
