#include "can/dbc/dbc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ingest/text/windows_1252.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr uint32_t kExtended = 1U << 31;

class DbcTest : public testing::Test {
 protected:
  Dbc read(const std::string& text) {
    std::ofstream(folder_.path() / "car.dbc", std::ios::binary) << text;
    return read_dbc(folder_.path() / "car.dbc");
  }
  TempFolder folder_;
};

const DbcMessage& message(const Dbc& dbc, uint32_t id = 291) {
  return dbc.messages().at(id);
}

// The names of the signals of a message, such as "Speed Mode".
std::string signals(const Dbc& dbc, uint32_t id = 291) {
  std::string names;
  for (const DbcSignal& signal : message(dbc, id).signals) names += (names.empty() ? "" : " ") + signal.name;
  return names;
}

std::string remarks(const Dbc& dbc) {
  std::string text;
  for (const DbcRemark& remark : dbc.remarks().kept()) text += remark.text() + "\n";
  return text;
}

// The signals of a payload with their raw values.
std::string values(const Dbc& dbc, const std::vector<uint8_t>& payload, uint32_t id = 291) {
  const DbcMessage& described = message(dbc, id);
  DbcPayload read(described, payload.data(), static_cast<int64_t>(payload.size()));
  std::string text;
  for (const DbcSignal& signal : described.signals)
    if (const auto raw = read.raw(signal))
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", signal.name, *raw);
  return text;
}

const std::string kMessage = "BO_ 291 Engine: 8 ECU\n";
const std::string kLast = " SG_ Last : 56|8@1+ (1,0) [0|9] \"km/h\" ECU\n";

// A bad line. A message, its last signal and the next message are read despite it.
struct OddCase {
  std::string line;
  std::string signals;  // Signals of the message.
  std::string remark;   // Empty if there is none.
};

class OddLineTest : public DbcTest, public testing::WithParamInterface<OddCase> {};

TEST_P(OddLineTest, CostsNoOtherLine) {
  const OddCase& odd = GetParam();
  const Dbc dbc = read(kMessage + odd.line + "\n" + kLast + "BO_ 292 Next: 4 ECU\n" + kLast);
  EXPECT_EQ(signals(dbc), odd.signals);
  EXPECT_EQ(signals(dbc, 292), "Last");
  EXPECT_EQ(message(dbc, 292).length, 4);
  EXPECT_EQ(message(dbc).signals.back().max, 9);
  if (odd.remark.empty()) {
    EXPECT_EQ(dbc.remarks().count(), 0) << remarks(dbc);
  } else {
    EXPECT_EQ(dbc.remarks().count(), 1);
    EXPECT_EQ(remarks(dbc).substr(0, 10), "2: found '") << remarks(dbc);
    EXPECT_NE(remarks(dbc).find(odd.remark), std::string::npos) << remarks(dbc);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OddLineTest,
    testing::Values(
        OddCase{" SG_ A m : 0|8@1+ (1,0) [0|1] \"\" B", "A Last", "read as a signal of every frame"},
        OddCase{" SG_ A mM : 0|8@1+ (1,0) [0|1] \"\" B", "A Last", "read as a signal of every frame"},
        OddCase{" SG_ A x2 : 0|8@1+ (1,0) [0|1] \"\" B", "Last", "expected M, m0 or m0M, or nothing"},
        OddCase{" SG_ Engine Speed : 0|8@1+ (1,0) [0|1] \"\" B", "Last", "left out"},
        OddCase{" SG_ A : 0|0@1+ (1,0) [0|1] \"\" B", "Last", "expected a signal"},
        OddCase{" SG_ A : 0|8@2+ (1,0) [0|1] \"\" B", "Last", "expected a signal"},
        OddCase{" SG_ A : 0|8@1 (1,0) [0|1] \"\" B", "Last", "expected a signal"},
        OddCase{" SG_ A : -1|8@1+ (1,0) [0|1] \"\" B", "Last", "expected a signal"},
        OddCase{" SG_ A : 0|99999999999999999999@1+ (1,0) [0|1] \"\" B", "Last", "expected a signal"},
        OddCase{" SG_ A 0|8@1+ (1,0) [0|1] \"\" B", "Last", "left out"},
        OddCase{" SG_ A", "Last", "expected a signal"},
        OddCase{" SG_ A : 0|8@1+ (nan,0) [0|1] \"\" B", "Last", "expected a finite factor"},
        OddCase{" SG_ A : 0|8@1+ (0,5,0) [0|1] \"\" B", "Last", "expected a finite factor"},
        OddCase{" SG_ A : 0|8@1+ [0|1] \"\" B", "Last", "expected a finite factor"},
        OddCase{" SG_ A : 0|8@1+ (1,0) [|] \"\" B", "A Last", "read without it"},
        OddCase{" SG_ A : 0|8@1+ (1,0) \"\" B", "A Last", "read without it"},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] B", "A Last", "expected a unit in quotes; read without it"},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] \"km/h B", "A Last", "expected a unit in quotes"},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] \"\\\" B", "A Last", ""},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] \"inch\"\" B", "A Last", ""},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] \"\"", "A Last", ""},
        OddCase{" SG_ A : 0|8@1+ (.5,-1.) [0|1E400] \"\" B", "A Last", ""},
        OddCase{"\tSG_\tA\t:\t0|8@1+\t(1,0)\t[0|1]\t\"\"\tB\t", "A Last", ""},
        OddCase{"SG_ A:0|8@1+(1,0)[0|1]\"\"B", "A Last", ""},
        OddCase{" SG_ A : 0 | 8 @ 1 + ( 1 , 0 ) [ 0 | 1 ] \"\" B", "A Last", ""},
        OddCase{" SG_ A :\n  0|8@1+ (1,0)\n  [0|1] \"\" B", "A Last", ""},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] \"\" B SG_ C : 8|8@1+ (1,0) [0|1] \"\" B", "A C Last", ""},
        OddCase{" SG_ A : 0|8@1+ (1,0) [0|1] \"//\" B // a \"comment\"", "A Last", ""},
        OddCase{" SG A : 0|8@1+ (1,0) [0|1] \"\" B", "Last", "expected a statement"},
        OddCase{"<<<<<<< HEAD", "Last", "expected a statement"},
        OddCase{" CM_ BO_ 291 \"in C:\\temp\\\";", "Last", ""},
        OddCase{" CM_ BO_ 291 \"the \"big\" engine\";", "Last", ""},
        OddCase{" CM_ BO_ 291 \"he said \\\"go\\\";\nand\nBO_ 5 Fake: 8 X\nSG_ in a text\";", "Last", ""},
        OddCase{" CM_ BO_ 291 \"no end;", "Last", "expected a closing quote"},
        OddCase{" CM_ BO_ 291 \"no semicolon\"", "Last", ""},
        OddCase{" VAL_ 291 Last 0 \"a;b\" 1 \"\\\" ;", "Last", ""},
        OddCase{" VAL_ 291 Last 0 \"a\"\n  1 \"b\" ;", "Last", ""},
        OddCase{"BA_ \"GenMsgCycleTime\" BO_ 291 fast;", "Last", "expected a value"},
        OddCase{"SG_MUL_VAL_ 291 Other Mode x-2;", "Last", "expected values of a multiplexor"},
        OddCase{"SIG_VALTYPE_ 291 Last : float;", "Last", "expected a type of a value"},
        OddCase{"", "Last", ""}));

TEST_F(DbcTest, IdsThatDoNotFitAreExtendedOrLeftOut) {
  const Dbc dbc =
      read("BO_ 419361024 EEC1: 8 ECU\n" + kLast + "BO_ 0x7FF Hex: 8 ECU\nBO_ 536870912 Big: 8 ECU\n" +
           kLast + "BO_ 1075054137 Bit30: 8 ECU\nBO_ x No: 8 ECU\nBO_ 5 Short: 8\n" +
           "BA_ \"GenMsgCycleTime\" BO_ 419361024 10;\n");
  EXPECT_EQ(message(dbc, 0x18FEF100 | kExtended).cycle_ms, 10);
  EXPECT_EQ(signals(dbc, 0x18FEF100 | kExtended), "Last");
  EXPECT_EQ(message(dbc, 0x7FF).name, "Hex");
  EXPECT_EQ(dbc.messages().size(), 3);
  EXPECT_EQ(dbc.remarks().count(), 4);
  EXPECT_NE(remarks(dbc).find("1: found 'BO_ 419361024 EEC1: 8 ECU', expected bit 31"), std::string::npos);
  EXPECT_NE(remarks(dbc).find("left out with its signals (1)"), std::string::npos) << remarks(dbc);
}

TEST_F(DbcTest, TheLaterOfTwoMessagesOfAnIdIsUsed) {
  const Dbc dbc = read(kMessage + kLast + "BO_ 291 Again: 4 ECU\n");
  EXPECT_EQ(message(dbc).name, "Again");
  EXPECT_EQ(signals(dbc), "");
  EXPECT_NE(remarks(dbc).find("used instead of the one in line 1"), std::string::npos) << remarks(dbc);
}

TEST_F(DbcTest, EveryKindOfLineEndAndOfMark) {
  const std::string text = "VERSION \"\"\nNS_ :\n\tCM_\n\tBA_DEF_\nBS_:\nBU_: A\n B\n C\n\n" + kMessage +
                           kLast + "CM_ \"two\nlines\";\nBO_ 292 Next: 8 A\n";
  for (const char* end : {"\n", "\r\n", "\r"}) {
    std::string converted = "\xEF\xBB\xBF";
    for (const char c : text) converted += c == '\n' ? end : std::string(1, c);
    const Dbc dbc = read(converted + "\x1A");
    EXPECT_EQ(dbc.messages().size(), 2);
    EXPECT_EQ(signals(dbc), "Last");
    EXPECT_EQ(dbc.remarks().count(), 0) << remarks(dbc);
  }
}

TEST_F(DbcTest, ATextWithoutAnEndTakesNoMoreThanItsLine) {
  std::string text = kMessage + kLast;
  // Reading these once needed time proportional to the square of their number.
  for (int i = 0; i < 20'000; ++i) text += "CM_ \\\"\n";
  const Dbc dbc = read(text + "BO_ 292 Next: 8 A\n");
  EXPECT_EQ(dbc.messages().size(), 2);
  EXPECT_EQ(dbc.remarks().kept().size(), DbcRemarks::kMaxKept);
}

TEST_F(DbcTest, LongNamesAndTextsOfWindows) {
  const Dbc dbc = read(
      "BO_ 291 Short_A0000: 8 ECU\n SG_ Sig000 : 0|8@1+ (1,0) [0|1] \"\xB0"
      "C\" ECU\n SG_ \xD6l : 8|8@1+ (1,0) [0|1] \"\xB5m\" ECU\n SG_ Utf8 : 16|8@1+ (1,0) [0|1] \"°C €\" ECU\n"
      "BO_ 292 Empty: 8 ECU\nBO_ 293 \x80: 8 ECU\n"
      "BA_DEF_DEF_ \"SystemMessageLongSymbol\" \"\";\n"
      "BA_ \"SystemMessageLongSymbol\" BO_ 291 \"Long_Name_Of_A_Message_Of_The_\xD6lpumpe\";\n"
      "BA_ \"SystemMessageLongSymbol\" BO_ 292 \"\";\nBA_ \"SystemMessageLongSymbol\" BO_ 999 \"None\";\n"
      "BA_ \"SystemSignalLongSymbol\" SG_ 291 Sig000 \"Long_Name_Of_A_Signal_Above_32_Characters\";\n"
      "SIG_VALTYPE_ 291 Sig000 : 0;\n");
  EXPECT_EQ(message(dbc).name, "Long_Name_Of_A_Message_Of_The_Ölpumpe");
  EXPECT_EQ(message(dbc, 292).name, "Empty");
  EXPECT_EQ(message(dbc, 293).name, "€");
  EXPECT_EQ(signals(dbc), "Long_Name_Of_A_Signal_Above_32_Characters Öl Utf8");
  EXPECT_EQ(message(dbc).signals[0].unit, "°C");
  EXPECT_EQ(message(dbc).signals[1].unit, "µm");
  EXPECT_EQ(message(dbc).signals[2].unit, "°C €");
  EXPECT_EQ(dbc.remarks().count(), 0) << remarks(dbc);
}

TEST(Windows1252Test, DecodesWhatIsNoUtf8) {
  EXPECT_EQ(utf8_of("plain"), "plain");
  EXPECT_EQ(utf8_of("\xE2\x82\xAC"), "€");
  EXPECT_EQ(utf8_of("\x80\x99\xFF"), "€™ÿ");
  EXPECT_EQ(utf8_of("\x81\xFF"), "\xEF\xBF\xBDÿ");
}

TEST_F(DbcTest, ExtendedMultiplexing) {
  const Dbc dbc = read(
      "BO_ 291 Ext: 8 ECU\n SG_ S0 M : 0|4@1+ (1,0) [0|15] \"\" B\n SG_ S1 m0M : 4|4@1+ (1,0) [0|15] \"\" B\n"
      " SG_ S2 m4 : 8|8@1+ (1,0) [0|10] \"\" B\n SG_ S3 m5 : 8|8@1+ (1,0) [0|255] \"\" B\n SG_ S4 : 16|8@1+ "
      "(1,0) "
      "[0|1] \"\" B\n\nSG_MUL_VAL_ 291 S1 S0 0-0, 2-3;\nSG_MUL_VAL_ 291 S2 S1 4-4, 6 - 7 ;\nSG_MUL_VAL_ 291 "
      "S3 S1 5;\n");
  EXPECT_EQ(values(dbc, {0x40, 9, 1}), "S0=0 S1=4 S2=9 S4=1");
  EXPECT_EQ(values(dbc, {0x73, 9, 1}), "S0=3 S1=7 S2=9 S4=1");
  EXPECT_EQ(values(dbc, {0x52, 9, 1}), "S0=2 S1=5 S3=9 S4=1");
  EXPECT_EQ(values(dbc, {0x80, 9, 1}), "S0=0 S1=8 S4=1");
  EXPECT_EQ(values(dbc, {0x41, 9, 1}), "S0=1 S4=1") << "S1 is not there, and so neither is what it decides";
  EXPECT_EQ(values(dbc, {0x40}), "S0=0 S1=4");
  EXPECT_EQ(dbc.remarks().count(), 0) << remarks(dbc);
}

TEST_F(DbcTest, IndependentMultiplexorsAndValuesOfOne) {
  const Dbc dbc = read(
      "BO_ 291 Two: 8 ECU\n SG_ A M : 0|8@1+ (1,0) [0|1] \"\" B\n SG_ B M : 8|8@1+ (1,0) [0|1] \"\" B\n"
      " SG_ C m0 : 16|8@1+ (1,0) [0|1] \"\" B\n SG_ D m1 : 24|8@1+ (1,0) [0|1] \"\" B\n SG_ E m2 : 32|8@1+ "
      "(1,0) [0|1] \"\" B\n"
      "BO_ 292 One: 8 ECU\n SG_ M1 m : 0|8@1+ (1,0) [0|1] \"\" B\n SG_ X m0 : 8|8@1+ (1,0) [0|1] \"\" B\n"
      " SG_ X m1 : 8|8@1+ (1,0) [0|1] \"\" B\n SG_ Y m7 : 8|8@1+ (1,0) [0|1] \"\" B\n"
      "SG_MUL_VAL_ 291 C A 0-0;\nSG_MUL_VAL_ 291 D B 1-1;\n"
      "SG_MUL_VAL_ 292 X M1 0-0;\nSG_MUL_VAL_ 292 X M1 1-2;\nSG_MUL_VAL_ 292 Y M1 8-9;\n");
  EXPECT_EQ(values(dbc, {0, 1, 3, 4, 5}), "A=0 B=1 C=3 D=4");
  EXPECT_EQ(values(dbc, {1, 1, 3, 4, 5}), "A=1 B=1 D=4");
  EXPECT_EQ(values(dbc, {0, 9}, 292), "M1=0 X=9");
  EXPECT_EQ(values(dbc, {2, 9}, 292), "M1=2 X=9") << "of the second X";
  EXPECT_EQ(values(dbc, {7, 9}, 292), "M1=7 Y=9");
  EXPECT_EQ(values(dbc, {9, 9}, 292), "M1=9 Y=9");
  EXPECT_NE(remarks(dbc).find("SG_ E m2"), std::string::npos) << "of which multiplexor?";
  EXPECT_EQ(dbc.remarks().count(), 2) << remarks(dbc);
}

TEST_F(DbcTest, MultiplexorsInACircleAreLeftOut) {
  const Dbc dbc =
      read(kMessage +
           " SG_ A m0M : 0|8@1+ (1,0) [0|1] \"\" B\n SG_ B m0M : 8|8@1+ (1,0) [0|1] \"\" B\n SG_ C m0 : "
           "16|8@1+ (1,0) [0|1] \"\" B\n" +
           kLast + "SG_MUL_VAL_ 291 A B 0-0;\nSG_MUL_VAL_ 291 B A 0-0;\nSG_MUL_VAL_ 291 C B 0-0;\n");
  EXPECT_EQ(signals(dbc), "Last");
  EXPECT_EQ(dbc.remarks().count(), 3);
}

TEST_F(DbcTest, OtherFormatsNameConvert) {
  const auto error_of = [&](const std::string& name, const std::string& text) -> std::string {
    std::ofstream(folder_.path() / name) << text;
    return error_text<InputError>([&] { read_dbc(folder_.path() / name); });
  };
  EXPECT_NE(error_of("car.arxml", "<?xml version=\"1.0\"?>\n<AUTOSAR>")
                .find("is ARXML, expected a DBC; convert it: plimsoll convert "),
            std::string::npos);
  EXPECT_NE(error_of("CAR.ARXML", "").find("is ARXML"), std::string::npos);
  EXPECT_NE(error_of("car.xml", "<NetworkDefinition>").find("is KCD"), std::string::npos);
  EXPECT_NE(error_of("car.sym", "FormatVersion=6.0").find("is SYM"), std::string::npos);
  EXPECT_NE(error_of("car.dbc",
                     "\xFF\xFE"
                     "B")
                .find("UTF-16"),
            std::string::npos);
  EXPECT_NE(error_of("car.dbc", "BO_ x Engine: 8 A\n")
                .find("found no message, expected lines such as BO_ 291 Engine: 8 ECU; line 1: found 'BO_ x"),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll
