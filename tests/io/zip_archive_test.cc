#include "io/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/ledger.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"
#include "support/zip.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::string read_all(InputStream& stream, size_t piece) {
  std::string text;
  std::string buffer(piece, '\0');
  while (const size_t got = stream.read(buffer.data(), piece)) text.append(buffer, 0, got);
  return text;
}

class Zip : public testing::Test {
 protected:
  void write(const std::string& bytes) const { write_bytes(path_, bytes); }
  std::string refusal() const {
    const std::string error = error_text<InputError>([&] { read(); });
    EXPECT_THAT(error, HasSubstr(path_.string()));
    EXPECT_EQ(Ledger::process().held(), 0);
    return error;
  }
  void read() const {
    const ZipArchive archive(path_);
    for (int64_t member = 0; member < archive.members(); ++member) read_all(*archive.open(member), 1000);
  }

  std::string long_text() const {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
    return text;
  }
  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "a.zip";
};

TEST_F(Zip, MembersAreReadWhateverThePieces) {
  const std::string text = long_text();
  write(zip_of({{"a/", "", 0}, {"a/long", text}, {"a/stored", "x", 0}, {"a/empty", ""}}));
  const ZipArchive archive(path_);
  ASSERT_EQ(archive.members(), 4);
  EXPECT_EQ(archive.name(0), "a/");
  EXPECT_EQ(archive.name(1), "a/long");
  for (const size_t piece : {1000U, 4096U, 1'000'000U}) {
    const auto stream = archive.open(1);
    EXPECT_EQ(read_all(*stream, piece), text);
    EXPECT_EQ(stream->bytes_read(), static_cast<int64_t>(text.size()));
  }
  // Reads two members in turns.
  const auto first = archive.open(1);
  const auto second = archive.open(1);
  std::string a(100, '\0');
  std::string b(100, '\0');
  for (size_t at = 0; at < 20'000; at += 100) {
    ASSERT_EQ(first->read(a.data(), 100), 100U);
    ASSERT_EQ(second->read(b.data(), 100), 100U);
    EXPECT_EQ(a, text.substr(at, 100));
    EXPECT_EQ(b, a);
  }
  EXPECT_EQ(read_all(*archive.open(2), 10), "x");
  EXPECT_EQ(read_all(*archive.open(3), 10), "");
}

TEST_F(Zip, BytesAreThoseOfTheFile) {
  const std::string bytes = zip_of({{"a", "text"}});
  write(bytes);
  EXPECT_EQ(ZipArchive(path_).bytes(), static_cast<int64_t>(bytes.size()));
}

TEST_F(Zip, OneThatIsCutOffAnywhereIsRefused) {
  const std::string bytes = zip_of({{"one", long_text()}, {"two", "text"}});
  for (size_t size = 0; size < bytes.size(); size += size < bytes.size() - 150 ? bytes.size() / 40 : 1) {
    write(bytes.substr(0, size));
    if (size == 0) {  // An empty file is an archive without members.
      EXPECT_NO_THROW(read());
      continue;
    }
    EXPECT_NE(refusal(), "") << size;
  }
}

TEST_F(Zip, DamagedDataIsRefused) {
  const std::string bytes = zip_of({{"one", long_text()}});
  write(bytes);
  flip_bit(path_, bytes.size() / 2);
  EXPECT_THAT(refusal(), HasSubstr("damaged zip data"));
  write(zip_of({{"one", "text", 0}}));
  flip_bit(path_, 34);  // Changes the text, so its checksum is wrong.
  EXPECT_THAT(refusal(), HasSubstr(":one: damaged zip data"));
}

TEST_F(Zip, OtherKindsOfArchiveAreRefusedWithTheRemedy) {
  write(zip_of({{"one", "text", 12}}));
  EXPECT_THAT(refusal(), HasSubstr("compressed by method 12"));
  write(zip_of({{"one", std::string(40, 'x'), 0, 1}}));
  EXPECT_THAT(refusal(), HasSubstr("encrypted"));
  write("no archive at all");
  EXPECT_THAT(refusal(), HasSubstr("cannot be read as a zip archive"));
  std::string bytes = zip_of({{"one", "text"}});
  bytes.insert(bytes.size() - 22, "PK\6\7" + std::string(16, '\0'));
  write(bytes);
  EXPECT_THAT(refusal(), HasSubstr("zip64"));
  std::filesystem::remove(path_);
  refusal();
}

TEST_F(Zip, ADirectoryIsPaidForBeforeItIsRead) {
  std::vector<ZipMember> members;
  for (int i = 0; i < 4000; ++i) members.push_back({"m" + std::to_string(i), "", 0});
  write(zip_of(members));
  {
    const ZipArchive archive(path_);
    EXPECT_EQ(archive.members(), 4000);
    EXPECT_GE(Ledger::process().held(Tag::ingest), 4000 * 300);
  }
  const LedgerCap cap(1 << 20);
  EXPECT_THROW(ZipArchive{path_}, BudgetExceeded);

  // An archive with long names.
  write(zip_of({{std::string(60'000, 'a'), ""}, {std::string(60'000, 'b'), ""}}));
  {
    const ZipArchive archive(path_);
    EXPECT_GE(Ledger::process().held(Tag::ingest), 2 * 60'000 + 96 * 1024);
  }

  // An archive that claims more members than it describes.
  std::string bytes = zip_of({{"one", "text"}});
  for (const size_t at : {14U, 12U}) bytes[bytes.size() - at] = bytes[bytes.size() - at + 1] = '\xFF';
  write(bytes);
  EXPECT_THROW(ZipArchive{path_}, BudgetExceeded);
}

TEST_F(Zip, AStreamIsPaidFor) {
  write(zip_of({{"one", long_text()}}));
  const ZipArchive archive(path_);
  const LedgerCap cap(50'000);
  EXPECT_THROW(archive.open(0), BudgetExceeded);
}

}  // namespace
}  // namespace plimsoll
