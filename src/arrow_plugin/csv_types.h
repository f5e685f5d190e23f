#pragma once

#include <arrow/type.h>

#include <memory>
#include <string_view>

/// Finds the type of a column of CSV from all its values. Numbers with leading zeros, whole numbers beyond
/// 64 bits, and whole numbers beyond 2^53 among reals, are texts, as a number would lose digits.
class CsvType {
 public:
  /// Takes a value; an empty one is missing.
  void See(std::string_view value);
  /// Returns null, int64, bool, date32, timestamp, double or utf8.
  std::shared_ptr<arrow::DataType> Find() const;

 private:
  void SeeTime(std::string_view value);

  bool any_ = false;
  bool whole_ = true, boolean_ = true, date_ = true, real_ = true;
  bool seconds_ = true, micros_ = true, nanos_ = true;  // Units that hold every value.
  bool with_zone_ = true, without_zone_ = true;
};
