#include "io/input_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "memory/ledger.h"
#include "support/compress.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

// Returns text that compresses to some hundred KiB, not to nothing.
std::string made_up_text(size_t lines) {
  std::string text;
  uint64_t state = 1;
  for (size_t i = 0; i < lines; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    text += std::to_string(i) + "," + std::to_string(state >> 40) + ",R\n";
  }
  return text;
}

std::string read_all(InputStream& stream, size_t piece = 10'000) {
  std::string text;
  std::vector<char> buffer(piece);
  for (size_t got = stream.read(buffer.data(), piece); got > 0; got = stream.read(buffer.data(), piece))
    text.append(buffer.data(), got);
  return text;
}

std::string read_all(const std::filesystem::path& path) {
  return read_all(*InputStream::open(path));
}

std::string hash_of(const std::string& bytes) {
  Hasher hasher;
  hasher.add(bytes.data(), bytes.size());
  return hasher.hex64();
}

std::string as_is(const std::string& text) {
  return text;
}

struct Form {
  const char* ending;
  std::string (*pack)(const std::string&);
};

void PrintTo(const Form& form, std::ostream* out) {
  *out << "capture.csv" << form.ending;
}

class InputStreamOfForm : public testing::TestWithParam<Form> {
 protected:
  std::string pack(const std::string& text) const { return GetParam().pack(text); }
  std::filesystem::path write(const std::string& bytes) const {
    const auto path = folder_ / (std::string("capture.csv") + GetParam().ending);
    write_bytes(path, bytes);
    return path;
  }
  TempFolder folder_;
};

class CompressedStream : public InputStreamOfForm {};

constexpr Form kPlain{"", as_is};
constexpr Form kZstd{".zst", zstd_frame};
constexpr Form kGzip{".gz", gzip_member};
INSTANTIATE_TEST_SUITE_P(Forms, InputStreamOfForm, testing::Values(kPlain, kZstd, kGzip));
INSTANTIATE_TEST_SUITE_P(Forms, CompressedStream, testing::Values(kZstd, kGzip));

TEST_P(InputStreamOfForm, GivesTheTextInPiecesOfAnySize) {
  const std::string text = made_up_text(30'000);
  const auto path = write(pack(text));
  for (const size_t piece : {1000UL, 65'536UL, text.size() - 1, text.size(), text.size() + 1})
    EXPECT_EQ(read_all(*InputStream::open(path), piece), text) << "in pieces of " << piece;
  const std::string little = made_up_text(20);
  EXPECT_EQ(read_all(*InputStream::open(write(pack(little))), 1), little);
}

TEST_P(InputStreamOfForm, LeavesOutAByteOrderMark) {
  for (const std::string text : {"", "a", "ab,c\n", "\xEF\xBB", "\xEF\xBB\xBF", "\xEF\xBB\xBFid,time\n"})
    for (const size_t piece : {1, 2, 3, 4, 100}) {
      const auto path = write(pack(text));
      const auto stream = InputStream::open(path);
      EXPECT_EQ(read_all(*stream, piece), text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
      EXPECT_EQ(stream->source_hash(), hash_of(pack(text)));
    }
}

TEST_P(InputStreamOfForm, GivesLessThanAskedOnlyAtTheEnd) {
  const std::string text = made_up_text(40'000);
  const auto stream = InputStream::open(write(pack(text)));
  std::string buffer(text.size() / 3, '\0');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream->read(buffer.data(), buffer.size()), buffer.size());
  EXPECT_EQ(stream->read(buffer.data(), buffer.size()), text.size() % 3);
  EXPECT_EQ(stream->read(buffer.data(), buffer.size()), 0U);
  EXPECT_EQ(stream->read(buffer.data(), buffer.size()), 0U);
}

TEST_P(InputStreamOfForm, CountsAndHashesTheBytesOfTheFileItself) {
  const std::string bytes = pack(made_up_text(30'000));
  const auto stream = InputStream::open(write(bytes));
  EXPECT_EQ(stream->bytes_read(), 0);
  read_all(*stream);
  EXPECT_EQ(stream->bytes_read(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(stream->source_hash(), hash_of(bytes));
}

TEST_P(InputStreamOfForm, AnEmptyTextHasNoBytes) {
  EXPECT_EQ(read_all(write(pack(""))), "");
}

TEST_P(InputStreamOfForm, AMissingFileIsAnInputErrorThatNamesIt) {
  const auto path = folder_ / (std::string("missing.csv") + GetParam().ending);
  EXPECT_THAT(error_text<InputError>([&] { InputStream::open(path); }), HasSubstr(path.string()));
}

TEST_P(InputStreamOfForm, AFolderOrAFileThatCannotBeReadIsAnErrorThatNamesIt) {
  const auto folder = folder_ / (std::string("folder.csv") + GetParam().ending);
  std::filesystem::create_directories(folder);
  EXPECT_EQ(error_text<InputError>([&] { read_all(folder); }),
            folder.string() + ": is a folder, expected a file");
  const auto broken = folder_ / (std::string("broken.csv") + GetParam().ending);
  // Reading it fails, because nothing is mapped at address 0.
  std::filesystem::create_symlink("/proc/self/mem", broken);
  EXPECT_EQ(error_text<Failure>([&] { read_all(broken); }),
            "cannot read " + broken.string() + ": Input/output error");
  EXPECT_EQ(Ledger::process().held(), 0);
}

TEST_P(InputStreamOfForm, TheLedgerReturnsToItsBalance) {
  read_all(write(pack(made_up_text(30'000))));
  EXPECT_EQ(Ledger::process().held(), 0);
}

TEST_P(CompressedStream, PartsBehindOneAnotherAreOneText) {
  const std::string text = made_up_text(9000);
  EXPECT_EQ(read_all(write(pack(text) + pack("") + pack("x") + pack(text))), text + "x" + text);
}

TEST_P(CompressedStream, DataThatIsCutOffAnywhereIsAnInputErrorThatNamesTheFile) {
  const std::string bytes = pack(made_up_text(30'000));
  ASSERT_GT(bytes.size(), 140'000U) << "should be more than one read";
  std::vector<size_t> ends = {0, 1, 3, 5, 10, 100, 131'072, bytes.size() / 2};
  for (size_t missing = 1; missing <= 12; ++missing) ends.push_back(bytes.size() - missing);
  for (const size_t end : ends) {
    const auto path = write(bytes.substr(0, end));
    const std::string error = error_text<InputError>([&] { read_all(path); });
    EXPECT_THAT(error, HasSubstr(path.string())) << "cut at " << end;
    EXPECT_THAT(error, HasSubstr("cut off")) << "cut at " << end;
  }
}

TEST_P(CompressedStream, GivesWhatThereIsOfDataThatAreCutOffWhereThatIsAskedFor) {
  const std::string text = made_up_text(30'000);
  const std::string bytes = pack(text);
  for (const size_t end : {size_t{0}, size_t{5}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1})
    for (const size_t piece : {1000UL, 65'536UL, text.size() + 1}) {
      const auto stream = InputStream::open(write(bytes.substr(0, end)), AtCut::stop);
      const std::string found = read_all(*stream, piece);
      EXPECT_TRUE(text.starts_with(found)) << "cut at " << end;
      EXPECT_GE(found.size() + 300'000, text.size() * end / bytes.size()) << "cut at " << end;
      EXPECT_TRUE(stream->is_cut_off());
    }
  const auto whole = InputStream::open(write(bytes), AtCut::stop);
  EXPECT_EQ(read_all(*whole), text);
  EXPECT_FALSE(whole->is_cut_off());
}

TEST_P(CompressedStream, IsFoundOutByItsFirstBytesUnderAnyName) {
  const std::string text = made_up_text(100);
  for (const char* name : {"rows", "rows.csv", "rows.txt.gz", "rows.txt.zst"}) {
    write_bytes(folder_ / name, pack(text));
    EXPECT_EQ(read_all(folder_ / name), text) << name;
  }
}

TEST(InputStream, RefusesWhatItCannotUnpackWithTheCommandThatCan) {
  using namespace std::string_literals;
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"BZh91AY&SY\x01\x02", "found bzip2 data, expected plain text, gzip or zstd; unpack it first: bzcat "},
      {"BZh9\x17rE8P\x90\0\0\0\0"s, "bzcat "},
      {"\xFD"
       "7zXZ\0\0"s,
       "found xz data"},
      {"\x04\x22\x4D\x18@", "found lz4 data"},
      {"PK\x03\x04rest", "found zip data"}};
  for (const auto& [bytes, message] : refused) {
    write_bytes(folder / "rows.txt", bytes);
    EXPECT_THAT(error_text<InputError>([&] { read_all(folder / "rows.txt"); }), HasSubstr(message));
  }
  for (const char* text : {"BZh9 x\n", "BZh91AY", "PK 1\n", "(\xB5 1\n"}) {
    write_bytes(folder / "rows.txt", text);
    EXPECT_EQ(read_all(folder / "rows.txt"), text);
  }
}

TEST_P(CompressedStream, ASecondPartThatIsCutOffIsFoundToo) {
  const auto path = write(pack("first") + pack("second").substr(0, 9));
  EXPECT_THAT(error_text<InputError>([&] { read_all(path); }), HasSubstr("cut off"));
}

TEST_P(CompressedStream, AChangedBitIsAnInputErrorThatNamesTheFile) {
  const std::string text = made_up_text(300);
  const std::string bytes = pack(text);
  const size_t begin = 12;  // Flags and times of the headers do not change the content.
  for (size_t at = begin; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto path = write(damaged);
    EXPECT_THAT(error_text<InputError>([&] { read_all(path); }), HasSubstr(path.string())) << "byte " << at;
  }
}

TEST_P(CompressedStream, WhatIsNotCompressedOrHasSomethingBehindItIsRefused) {
  EXPECT_THROW(read_all(write("time,id,data\n1,2,3\n4,5,6\n")), InputError);
  EXPECT_THROW(read_all(write(pack("text") + "something else altogether")), InputError);
  EXPECT_EQ(Ledger::process().held(), 0);
}

TEST_P(CompressedStream, ABudgetAnywhereBelowTheNeedIsARefusalOfTheBudget) {
  const std::string text = made_up_text(30'000);
  const auto path = write(pack(text));
  Ledger::process().begin_recent();
  EXPECT_EQ(read_all(path), text);
  const int64_t need = Ledger::process().recent_peak();
  ASSERT_GT(need, 30'000);
  for (int64_t cap = 0; cap < need; cap += 3000) {
    const LedgerCap limited(cap);
    try {
      read_all(path);
      FAIL() << "read with " << cap << " of " << need << " bytes";
    } catch (const BudgetExceeded& refusal) {
      EXPECT_EQ(refusal.exit_code(), 4);
      EXPECT_EQ(refusal.tag(), Tag::ingest);
      EXPECT_GT(refusal.bytes_asked(), refusal.bytes_free()) << "with " << cap;
      EXPECT_LE(refusal.bytes_free(), cap) << "with " << cap;
    }
    EXPECT_EQ(Ledger::process().held(), 0) << "with " << cap;
  }
  const LedgerCap enough(need);
  EXPECT_EQ(read_all(path), text);
}

TEST(ZstdStream, AWindowThatDoesNotFitIsARefusalOfTheBudgetWhateverItsSize) {
  const TempFolder folder;
  const auto path = folder / "long.zst";
  // Only frame headers: no content size, windows of 2^27 and 2^31 bytes (zstd --long=31).
  for (const int log : {27, 31}) {
    std::string frame = "\x28\xb5\x2f\xfd";
    frame += '\0';
    frame += static_cast<char>((log - 10) << 3);
    write_bytes(path, frame + std::string("\x01\0\0", 3));
    const LedgerCap cap(8 << 20);
    try {
      read_all(path);
      FAIL() << "window of 2^" << log;
    } catch (const BudgetExceeded& refusal) {
      EXPECT_GE(refusal.bytes_asked(), int64_t{1} << log);
    }
  }
  EXPECT_EQ(Ledger::process().held(), 0);
}

}  // namespace
}  // namespace plimsoll
