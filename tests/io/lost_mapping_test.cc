#include "io/lost_mapping.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

TEST(LostMapping, AFileMadeShorterEndsTheProgramByItsName) {
  const TempFolder folder;
  const auto read_lost = [&](bool moved) {
    report_lost_mappings();
    write_bytes(folder / "other", std::string(20000, 'x'));
    write_bytes(folder / "column.npy", std::string(20000, 'x'));
    const MappedFile other(folder / "other");
    MappedFile first(folder / "column.npy");
    MappedFile second;
    if (moved) second = std::move(first);
    std::filesystem::resize_file(folder / "column.npy", 100);
    volatile std::byte sink = (moved ? second : first).bytes()[15000];
    static_cast<void>(sink);
  };
  for (const bool moved : {false, true})
    EXPECT_EXIT(read_lost(moved), testing::ExitedWithCode(3), "column.npy: can no longer be read");
}

TEST(LostMapping, PlacesAreGivenBack) {
  const TempFolder folder;
  write_bytes(folder / "column.npy", std::string(20000, 'x'));
  const auto read_lost = [&] {
    report_lost_mappings();
    for (int i = 0; i < 2000; ++i) const MappedFile passing(folder / "column.npy");
    const MappedFile file(folder / "column.npy");
    std::filesystem::resize_file(folder / "column.npy", 100);
    volatile std::byte sink = file.bytes()[15000];
    static_cast<void>(sink);
  };
  EXPECT_EXIT(read_lost(), testing::ExitedWithCode(3), "column.npy: can no longer be read");
}

}  // namespace
}  // namespace plimsoll
