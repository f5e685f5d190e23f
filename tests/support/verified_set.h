#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/hash.h"
#include "store/data_set.h"
#include "store/verify.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {

/// A data set that is damaged on purpose, and the findings of verify_data_set().
class Verify : public testing::Test {
 protected:
  // Changes one element of a column and its checksum in the manifest, so that the checksum does not reveal
  // it.
  template <typename T>
  void set(const std::string& column, size_t index, T value) const {
    const auto path = folder_ / (column + ".npy");
    std::string bytes = read_bytes(path);
    bytes.replace(4096 + index * sizeof(T), sizeof(T), reinterpret_cast<const char*>(&value), sizeof(T));
    write_bytes(path, bytes);
    Hasher hasher;
    hasher.add(bytes.data() + 4096, bytes.size() - 4096);
    Json manifest = read_manifest(folder_);
    manifest["columns"][column]["xxh3"] = hasher.hex64();
    write_bytes(folder_ / "manifest.json", manifest.dump());
  }
  template <typename T>
  T get(const std::string& column, size_t index) const {
    T value;
    std::memcpy(&value, read_bytes(folder_ / (column + ".npy")).data() + 4096 + index * sizeof(T), sizeof(T));
    return value;
  }
  std::vector<std::string> findings() const { return verify_data_set(folder_); }
  void expect_finding(const std::string& part) const {
    EXPECT_THAT(findings(), testing::Contains(testing::HasSubstr(part)));
  }

  void expect_every_column_guarded() const {
    const DataSetView set(folder_);
    for (const auto& [name, view] : set.columns()) {
      const auto path = folder_ / (name + ".npy");
      const size_t size = std::filesystem::file_size(path);
      for (const size_t at : {size_t{4096}, size - 1}) {
        flip_bit(path, at, 1);
        try {
          expect_finding("column '" + name + "': its checksum");
        } catch (const InputError&) {  // Opening a set checks the first and last pointers.
          EXPECT_THAT(name, testing::HasSubstr("_ptr"));
        }
        flip_bit(path, at, 1);
      }
    }
    EXPECT_THAT(findings(), testing::IsEmpty());
  }

  TempFolder parent_;
  std::filesystem::path folder_ = parent_ / "set";
};

}  // namespace plimsoll
