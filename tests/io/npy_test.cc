#include "io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

template <typename T>
std::vector<T> some_values() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}, T{100}, T{7}};
}

template <typename T>
class NpyOfType : public testing::Test {
 protected:
  TempFolder folder_;
};
using Types = testing::Types<int64_t, int32_t, uint32_t, uint8_t, float>;
TYPED_TEST_SUITE(NpyOfType, Types);

TYPED_TEST(NpyOfType, ColumnsAndMatricesAreReadBackAsWritten) {
  const std::vector<TypeParam> values = some_values<TypeParam>();
  for (const std::vector<int64_t>& row : {std::vector<int64_t>{}, {3}, {2, 3}}) {
    const auto path = this->folder_ / "a.npy";
    NpyWriter writer(path, npy_dtype<TypeParam>(), row);
    writer.append(std::span<const TypeParam>(values));
    const NpyShape written = writer.finish();
    const NpyView view(path);
    EXPECT_EQ(view.shape(), written);
    EXPECT_EQ(view.shape().elements(), 6);
    EXPECT_EQ(view.shape().rows(), row.empty() ? 6 : 6 / (row.size() == 1 ? 3 : 6));
    EXPECT_THAT(view.values<TypeParam>(), ElementsAreArray(values));
  }
}

TYPED_TEST(NpyOfType, AnotherTypeIsRefused) {
  const auto path = this->folder_ / "a.npy";
  NpyWriter(path, npy_dtype<TypeParam>(), {}).finish();
  const NpyView view(path);
  const auto read_as = [&](auto other) {
    using Other = decltype(other);
    if constexpr (!std::is_same_v<Other, TypeParam>) {
      const std::string error = error_text<InputError>([&] { view.values<Other>(); });
      EXPECT_THAT(error, HasSubstr(path.string()));
      EXPECT_THAT(error, HasSubstr(npy_dtype<Other>()));
    }
  };
  read_as(int64_t{});
  read_as(int32_t{});
  read_as(uint32_t{});
  read_as(uint8_t{});
  read_as(float{});
}

class Npy : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) const {
    write_bytes(path_, bytes);
    return path_;
  }
  std::string refusal(const std::string& bytes) const {
    const std::string error = error_text<InputError>([&] { NpyView view(write(bytes)); });
    EXPECT_THAT(error, HasSubstr(path_.string()));
    return error;
  }
  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "a.npy";
};

// A file as NumPy writes it: the header ends at a multiple of 64 bytes, not at 4096.
std::string numpy_file(const std::string& dictionary, const std::string& data, char version = 1) {
  const size_t begin = version == 1 ? 10 : 12;
  std::string header = dictionary;
  header.resize((begin + dictionary.size() + 1 + 63) / 64 * 64 - begin - 1, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += {version, '\0'};
  for (size_t byte = 0; byte < begin - 8; ++byte) file += static_cast<char>(header.size() >> (8 * byte));
  return file + header + data;
}

std::string int32_bytes(const std::vector<int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t)};
}

TEST_F(Npy, TheHeaderIsAPageOfNumPysFormat) {
  const std::string header = npy_header({"<f4", {1000, 8}});
  EXPECT_EQ(header.size(), 4096U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\xf6\x0f", 10));
  EXPECT_TRUE(
      header.substr(10).starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 8), }  "));
  EXPECT_EQ(header.back(), '\n');
  EXPECT_THAT(npy_header({"<i8", {5}}), HasSubstr("'shape': (5,), }"));
  EXPECT_THAT(npy_header({"|u1", {}}), HasSubstr("'shape': (), }"));
}

TEST_F(Npy, DataStartsAtByte4096AndNothingFollowsIt) {
  NpyWriter writer(path_, "<i4", {});
  writer.append(std::span<const int32_t>(std::vector<int32_t>{1, 2, 3}));
  writer.finish();
  EXPECT_EQ(read_bytes(path_), npy_header({"<i4", {3}}) + int32_bytes({1, 2, 3}));
}

TEST_F(Npy, ThePiecesInWhichRowsAreAppendedDoNotShow) {
  std::vector<uint8_t> values(800'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * i >> 5);
  const auto write_in = [&](const std::vector<size_t>& pieces) {
    NpyWriter writer(path_, "|u1", {8});
    size_t at = 0;
    for (size_t turn = 0; at < values.size(); ++turn) {
      const size_t count = std::min(pieces[turn % pieces.size()], values.size() - at);
      writer.append(std::span<const uint8_t>(values).subspan(at, count));
      at += count;
    }
    writer.finish();
    return read_bytes(path_) + writer.checksum();
  };
  const std::string whole = write_in({values.size()});
  EXPECT_EQ(whole.substr(4096, values.size()), std::string(values.begin(), values.end()));
  EXPECT_EQ(write_in({1}), whole);
  // Sizes around the 262,144 bytes of the buffer.
  EXPECT_EQ(write_in({262'143, 1, 1}), whole);
  EXPECT_EQ(write_in({262'143, 2}), whole);
  EXPECT_EQ(write_in({262'144}), whole);
  EXPECT_EQ(write_in({0, 5, 262'145, 100, 200'000}), whole);
}

TEST_F(Npy, TheChecksumIsThatOfTheDataBytes) {
  NpyWriter writer(path_, "|u1", {});
  const std::vector<uint8_t> values = {'a', 'b', 'c'};
  writer.append(std::span<const uint8_t>(values));
  writer.finish();
  EXPECT_EQ(writer.checksum(), "78af5f94892f3950");  // XXH3-64 of "abc".
}

TEST_F(Npy, NoRowsAndRowsOfNoWidthAreKept) {
  EXPECT_EQ(NpyWriter(path_, "<f4", {3}).finish(), (NpyShape{"<f4", {0, 3}}));
  EXPECT_TRUE(NpyView(path_).values<float>().empty());
  NpyWriter(path_, "<f4", {0}).finish();
  EXPECT_EQ(NpyView(path_).shape(), (NpyShape{"<f4", {0, 0}}));
}

TEST_F(Npy, TheBufferOfAWriterStandsInTheLedger) {
  {
    const NpyWriter writer(path_, "<f4", {});
    EXPECT_EQ(Ledger::process().held(Tag::output), 256 * 1024);
  }
  EXPECT_EQ(Ledger::process().held(Tag::output), 0);
  const LedgerCap cap(1000);
  EXPECT_THROW(NpyWriter(path_, "<f4", {}), BudgetExceeded);
}

TEST_F(Npy, FilesOfNumPyItselfAreRead) {
  const std::string data = int32_bytes({1, 2, 3, 4});
  for (const char version : {1, 2}) {
    const NpyView view(
        write(numpy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", data, version)));
    EXPECT_EQ(view.shape(), (NpyShape{"<i4", {2, 2}}));
    EXPECT_THAT(view.values<int32_t>(), ElementsAre(1, 2, 3, 4));
  }
  EXPECT_THAT(NpyView(write(numpy_file("{'shape': (4,), 'fortran_order': False, 'descr': '<i4'}", data)))
                  .values<int32_t>(),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      NpyView(write(numpy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", int32_bytes({9}))))
          .values<int32_t>(),
      ElementsAre(9));
}

TEST_F(Npy, FilesThatAreNoNpyAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string("\x93NUMP"), std::string("\x93NUMPY"),
        std::string("\x93NUMPY\x01"), std::string("\x93NUMPY\x01\0\x46\0", 10),
        std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), std::string("\x93NUMPY\x03\0\0\0\0\0", 12),
        std::string("\x93NUMPY\x01\0\0\0\0\0", 12), std::string("time,id\n1,2\n3,4\n"),
        std::string(5000, '\0')})
    EXPECT_THAT(refusal(bytes), HasSubstr("not a usable .npy file"));
}

TEST_F(Npy, HeadersThatSayNothingUsableAreRefused) {
  const std::string data = int32_bytes({1, 2, 3, 4});
  const auto dictionary = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  const std::vector<std::string> bad = {"",
                                        "{}",
                                        "garbage",
                                        "{'descr':",
                                        "{'descr': '",
                                        "{'descr': '<i4', 'fortran_order':",
                                        "{'descr': '<i4', 'shape': (4,), }",
                                        "{'fortran_order': False, 'shape': (4,), }",
                                        "{'descr': '<i4', 'fortran_order': False, }",
                                        dictionary("'>i4'", "False", "(4,)"),
                                        dictionary("'<c8'", "False", "(2,)"),
                                        dictionary("'|O'", "False", "(2,)"),
                                        dictionary("''", "False", "(4,)"),
                                        dictionary("[('a', '<i4')]", "False", "(4,)"),
                                        dictionary("'<i4'", "True", "(4,)"),
                                        dictionary("'<i4'", "maybe", "(4,)"),
                                        dictionary("'<i4'", "False", "4"),
                                        dictionary("'<i4'", "False", "(-4,)"),
                                        dictionary("'<i4'", "False", "(-2, -2)"),
                                        dictionary("'<i4'", "False", "(4.0,)"),
                                        dictionary("'<i4'", "False", "(four,)"),
                                        dictionary("'<i4'", "False", "(99999999999999999999999,)"),
                                        "{'descr': '<i4', 'fortran_order': False, 'shape': (4,",
                                        "{'descr': '<i4', 'fortran_order': False, 'shape': ("};
  for (const std::string& text : bad) EXPECT_NE(refusal(numpy_file(text, data)), "") << text;
}

TEST_F(Npy, AShapeThatIsNotThatOfTheDataIsRefused) {
  const std::string data = int32_bytes({1, 2, 3, 4});
  for (const char* shape : {"(3,)", "(5,)", "(2, 3)", "(0,)", "()", "(4, 0)", "(4611686018427387904,)",
                            "(9223372036854775807,)", "(4294967296, 4294967296)", "(4611686018427387905, 4)",
                            "(9223372036854775807, 9223372036854775807, 0)"})
    EXPECT_THAT(refusal(numpy_file(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }", data)),
                HasSubstr("bytes of data follow"))
        << shape;
}

TEST_F(Npy, AFileThatIsCutOffAnywhereIsRefused) {
  const std::string whole = npy_header({"<i4", {4}}) + int32_bytes({1, 2, 3, 4});
  for (const size_t size : {5UL, 9UL, 11UL, 12UL, 100UL, 4095UL, 4096UL, 4097UL, 4100UL, whole.size() - 1})
    EXPECT_NE(refusal(whole.substr(0, size)), "") << "cut at " << size;
  EXPECT_NE(refusal(whole + "x"), "");
}

TEST_F(Npy, AHeaderLongerThanTheFileIsRefused) {
  std::string file = numpy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }", "");
  ++file[8];
  EXPECT_THAT(refusal(file), HasSubstr("ends inside the header"));
}

TEST_F(Npy, DataThatIsNotAlignedIsRefused) {
  std::string file = numpy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", "");
  file.insert(20, " ");
  ++file[8];
  EXPECT_THAT(refusal(file + int32_bytes({1})), HasSubstr("not aligned"));
}

TEST_F(Npy, NoChangedByteOfAHeaderCrashes) {
  const std::string whole =
      numpy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", int32_bytes({1, 2, 3, 4}));
  for (size_t at = 0; at < whole.size() - 16; ++at)
    for (const int value : {0, 0x20, 0x27, 0x29, 0x39, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      try {
        EXPECT_EQ(NpyView(write(damaged)).data().size(), 16U);
      } catch (const InputError&) {
      }
    }
}

}  // namespace
}  // namespace plimsoll
