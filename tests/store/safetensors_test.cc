#include "store/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/hash.h"
#include "store/tensor_stream.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/ledger_cap.h"
#include "support/names_in.h"
#include "support/temp_folder.h"
#include "support/without_checksum.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

class Safetensors : public testing::Test {
 protected:
  template <typename T>
  static TensorSpan span_of(const std::string& dtype, std::vector<int64_t> shape,
                            const std::vector<T>& values) {
    return {dtype, std::move(shape), std::as_bytes(std::span(values))};
  }
  void write(const TensorMetadata& metadata = {{"model", "gat"}, {"quoted", "a \"b\" \\ \n \u00e9"}}) const {
    write_safetensors(path_,
                      {{"weight", span_of("F32", {2, 3}, weight_)},
                       {"bias", span_of("I64", {2}, bias_)},
                       {"flag", span_of("U8", {}, flag_)},
                       {"empty", span_of("F32", {0, 4}, std::vector<float>())}},
                      metadata);
  }
  // Makes a file with this header and `data` bytes after it.
  std::string with_header(const std::string& header, size_t data = 0) const {
    std::string file(8, '\0');
    const uint64_t length = header.size();
    std::memcpy(file.data(), &length, 8);
    return file + header + std::string(data, '\x01');
  }
  std::string refusal(const std::string& bytes) const {
    write_bytes(path_, bytes);
    const std::string error = error_text<InputError>([&] { SafetensorsView view(path_); });
    EXPECT_THAT(error, HasSubstr(path_.string()));
    return error;
  }

  const std::vector<float> weight_ = {1, 2, 3, 4, 5, 6.5F};
  const std::vector<int64_t> bias_ = {-1, 1};
  const std::vector<uint8_t> flag_ = {1};
  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
};

TEST_F(Safetensors, StreamsMakeTheFileOfTensorsInMemory) {
  write_safetensors(path_,
                    {{"bias", span_of("I64", {2}, bias_)}, {"weight", span_of("F32", {2, 3}, weight_)}},
                    {{"model", "gat"}});
  int reads = 0;
  const auto in_parts = [&](const TakeBytes& take) {
    ++reads;
    for (const float& number : weight_) take(std::as_bytes(std::span(&number, 1)));
  };
  const auto streamed = folder_ / "streamed.safetensors";
  write_safetensors(streamed,
                    {{"bias", stream_of(span_of("I64", {2}, bias_))}, {"weight", {"F32", {2, 3}, in_parts}}},
                    {{"model", "gat"}});
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(read_text(streamed), read_text(path_));
}

TEST_F(Safetensors, IsReadBackAsWritten) {
  write();
  const SafetensorsView view(path_);
  EXPECT_EQ(view.tensors().size(), 4U);
  const TensorSpan& weight = view.tensor("weight");
  EXPECT_EQ(weight.dtype, "F32");
  EXPECT_THAT(weight.shape, ElementsAre(2, 3));
  EXPECT_THAT(weight.data, ElementsAreArray(std::as_bytes(std::span(weight_))));
  EXPECT_THAT(view.tensor("bias").data, ElementsAreArray(std::as_bytes(std::span(bias_))));
  EXPECT_TRUE(view.tensor("flag").shape.empty());
  EXPECT_TRUE(view.tensor("empty").data.empty());
  EXPECT_EQ(view.metadata().size(), 3U) << "those given and the checksum";
  EXPECT_EQ(view.meta("model"), "gat");
  EXPECT_EQ(view.meta("quoted"), "a \"b\" \\ \n \u00e9");
}

TEST_F(Safetensors, HashIsThatOfTheWholeFile) {
  write();
  const std::string bytes = read_text(path_);
  Hasher hasher;
  hasher.add(bytes.data(), bytes.size());
  EXPECT_EQ(SafetensorsView(path_).hash(), hasher.hex64());
}

TEST_F(Safetensors, WhatIsMissingIsNamed) {
  write();
  const SafetensorsView view(path_);
  EXPECT_THAT(error_text<InputError>([&] { view.tensor("head.weight"); }), HasSubstr("'head.weight'"));
  EXPECT_THAT(error_text<InputError>([&] { view.meta("recipe"); }), HasSubstr("'recipe'"));
}

TEST_F(Safetensors, DataBeginsAtAMultipleOf64WithoutHoles) {
  for (const size_t pad : {0U, 1U, 31U, 62U, 63U, 64U}) {
    write_safetensors(path_, {{"a", span_of("F32", {6}, weight_)}, {"b", span_of("I64", {2}, bias_)}},
                      {{"pad", std::string(pad, 'x')}});
    const std::string bytes = read_bytes(path_);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    EXPECT_EQ((header + 8) % 64, 0U);
    EXPECT_EQ(bytes.size(), 8 + header + 24 + 16);
    EXPECT_EQ(bytes[8], '{');
    const SafetensorsView view(path_);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.tensor("a").data.data()) % 64, 0U);
  }
}

TEST_F(Safetensors, EqualInputGivesEqualBytes) {
  write();
  const std::string first = read_bytes(path_);
  write();
  EXPECT_EQ(read_bytes(path_), first);
  EXPECT_LT(first.find("\"bias\""), first.find("\"weight\"")) << "tensors lie in the order of their names";
}

TEST_F(Safetensors, IsReplacedWholeAndLeavesNoTemporary) {
  write();
  write();
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("model.safetensors"));
  std::filesystem::create_directories(folder_ / "taken" / "inside");
  path_ = folder_ / "taken";
  EXPECT_THROW(write(), Failure);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("model.safetensors", "taken"));
}

TEST_F(Safetensors, IsTheOldOneOrTheNewWhateverFails) {
  const auto write_as = [this](const char* name) {
    return [this, name](FileSystem& files) {
      write_safetensors("/place/model", {{name, span_of("F32", {2, 3}, weight_)}}, {}, files);
    };
  };
  FaultTrials(
      "/place/model", [](FileSystem&) {}, write_as("new"))
      .run();
  FaultTrials("/place/model", write_as("old one"), write_as("new")).run();
}

TEST_F(Safetensors, FilesOfOtherToolsAreRead) {
  write_bytes(path_, with_header(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4));
  const SafetensorsView view(path_);
  EXPECT_EQ(view.tensor("w").data.size(), 4U);
  EXPECT_TRUE(view.metadata().empty());
}

TEST_F(Safetensors, HeadersThatDoNotFitOrAreNoJsonAreRefused) {
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("1234567"), "");
  EXPECT_NE(refusal(std::string(8, '\0')), "");
  EXPECT_NE(refusal(std::string(8, '\xff')), "");
  EXPECT_NE(refusal(with_header("{}").substr(0, 9)), "");
  for (const char* header : {"", "{", "[]", "null", "7", "garbage", "{\"w\"}", "\xff\xfe"})
    EXPECT_THAT(refusal(with_header(header)), HasSubstr("not a usable safetensors file")) << header;
}

TEST_F(Safetensors, MetadataThatIsNoTextIsRefused) {
  for (const char* metadata : {"7", "[]", "null", R"({"a":1})", R"({"a":null})", R"({"a":{}})"})
    EXPECT_NE(refusal(with_header(std::string(R"({"__metadata__":)") + metadata + "}")), "") << metadata;
}

TEST_F(Safetensors, TensorsThatTheDataDoesNotHoldAreRefusedByName) {
  for (const char* tensor :
       {"7",
        "null",
        "[]",
        "{}",
        R"({"dtype":"F32","shape":[1]})",
        R"({"dtype":"F32","data_offsets":[0,4]})",
        R"({"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":7,"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F31","shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[0],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,12666666666666666666666666666]})",
        R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":4})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[5,9]})",
        R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})",
        R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]})"})
    EXPECT_THAT(refusal(with_header(std::string(R"({"w":)") + tensor + "}", 8)), HasSubstr("tensor 'w'"))
        << tensor;
}

TEST_F(Safetensors, AFileThatIsCutOffAnywhereIsRefused) {
  write();
  const std::string whole = read_bytes(path_);
  for (size_t size = 0; size < whole.size(); size += 13)
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
  EXPECT_NE(refusal(whole.substr(0, whole.size() - 1)), "");
}

// Each key is looked up by name. A lookup that is not logarithmic would need hours, and ctest would end the
// test.
TEST_F(Safetensors, AHeaderOfAMillionKeysIsReadInTime) {
  std::string header = "{";
  for (int t = 0; t < 1'000'000; ++t)
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})", t == 0 ? "" : ",",
                          t, t, t + 1);
  write_bytes(path_, with_header(header + "}", 1'000'000));
  EXPECT_EQ(SafetensorsView(path_).tensors().size(), 1'000'000U);
}

TEST_F(Safetensors, WhatAHeaderTakesIsInTheLedger) {
  std::string header = "{";
  for (int t = 0; t < 100'000; ++t)
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})", t == 0 ? "" : ",",
                          t, t, t + 1);
  write_bytes(path_, with_header(header + "}", 100'000));
  const int64_t before = Ledger::process().held();
  {
    const SafetensorsView view(path_);
    EXPECT_GT(Ledger::process().held() - before, 100'000 * 200);
    EXPECT_LT(Ledger::process().held() - before, 100'000 * 400);
  }
  EXPECT_EQ(Ledger::process().held(), before);
  const LedgerCap cap(1 << 20);
  EXPECT_THROW(SafetensorsView{path_}, BudgetExceeded);
  EXPECT_EQ(Ledger::process().held(), before);
}

TEST_F(Safetensors, WhatParsingAHeaderTakesIsInTheLedger) {
  constexpr int64_t kText = 4 << 20;
  write_bytes(path_, with_header(R"({"__metadata__":{"a":")" + std::string(kText, 'x') + "\"}}"));
  const int64_t before = Ledger::process().held();
  Ledger::process().begin_recent();
  {
    const SafetensorsView view(path_);
    EXPECT_GT(Ledger::process().recent_peak() - before, 4 * kText);
    EXPECT_LT(Ledger::process().held() - before, 2 * kText) << "what is kept";
  }
  const LedgerCap cap(before + 3 * kText);
  EXPECT_THROW(SafetensorsView{path_}, BudgetExceeded);
  EXPECT_EQ(Ledger::process().held(), before);
}

TEST_F(Safetensors, TensorsThatShareDataOrLeaveSomeOutAreRefused) {
  const auto header = [](int64_t first, int64_t end) {
    return fmt::format(R"({{"b":{{"dtype":"U8","shape":[4],"data_offsets":[4,8]}},)"
                       R"("a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                       end - first, first, end);
  };
  EXPECT_THAT(refusal(with_header(header(3, 7), 8)),
              HasSubstr("'a' begins at byte 3 of the data, expected 0"));
  EXPECT_THAT(refusal(with_header(header(0, 6), 8)),
              HasSubstr("'b' begins at byte 4 of the data, expected 6"));
  EXPECT_THAT(refusal(with_header(header(4, 8), 8)), HasSubstr("begins at byte 4 of the data, expected 0"));
  EXPECT_THAT(refusal(with_header(header(0, 2), 8)),
              HasSubstr("'b' begins at byte 4 of the data, expected 2"));
  EXPECT_THAT(refusal(with_header(header(0, 4), 9)), HasSubstr("end at byte 8 of 9"));
  write_bytes(path_, with_header(header(0, 4), 8));
  EXPECT_EQ(SafetensorsView(path_).tensors().size(), 2U) << "in whatever order the header names them";
}

TEST_F(Safetensors, LongTextsOfTheFileAreCutInErrors) {
  const std::string text(100'000, 'x');
  for (const std::string& header :
       {R"({"w":{"dtype":")" + text + R"(","shape":[1],"data_offsets":[0,1]}})",
        R"({"w":{"dtype":"U8","shape":[")" + text + R"("],"data_offsets":[0,1]}})",
        R"({")" + text + R"(":{"dtype":"U7","shape":[1],"data_offsets":[0,1]}})",
        R"({"__metadata__":{")" + text + R"(":1}})"})
    EXPECT_LT(refusal(with_header(header, 1)).size(), 1000U);
}

TEST_F(Safetensors, ANameThatComesTwiceIsRefused) {
  const std::string w = R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(refusal(with_header("{" + w + "," + w + "}", 1)), HasSubstr("'w' occurs twice"));
  EXPECT_THAT(refusal(with_header(R"({"__metadata__":{"a":"1"},"__metadata__":{"a":"2"}})")),
              HasSubstr("'a' occurs twice"));
}

TEST_F(Safetensors, AnEntryOfMoreThanATensorHasIsRefused) {
  std::string shape = "1";
  for (int i = 0; i < 100'000; ++i) shape += ",1";
  EXPECT_THAT(
      refusal(with_header(R"({"w":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})", 1)),
      HasSubstr("'w' contains more"));
  std::string metadata = R"("a":"")";
  for (int i = 0; i < 100'000; ++i) metadata += fmt::format(R"(,"{}":"")", i);
  EXPECT_THAT(refusal(with_header(R"({"__metadata__":{)" + metadata + "}}")), HasSubstr("__metadata__"));
}

TEST_F(Safetensors, AnyBitThatTurnsIsNoticed) {
  write();
  const std::string whole = read_bytes(path_);
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  const size_t key = whole.find("plimsoll.checksum");
  for (size_t byte = 8; byte < whole.size(); ++byte) {
    if (byte < 8 + header && whole[byte] == ' ') continue;  // Padding of the header may be any blank.
    if (byte >= key && byte < key + 17) continue;  // A changed key makes it a file without a checksum.
    for (const int bit : {0, 1, 7}) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      const std::string error = refusal(damaged);
      if (byte >= 8 + header) {
        EXPECT_THAT(error, HasSubstr("checksum")) << byte;
      }
    }
  }
}

TEST_F(Safetensors, AFileWithoutAChecksumIsRead) {
  write();
  const SafetensorsView view(path_);
  EXPECT_EQ(view.meta("plimsoll.checksum").size(), 16U);
  write_bytes(path_, without_checksum(read_bytes(path_)));
  const SafetensorsView old(path_);
  EXPECT_EQ(old.metadata().size(), 2U);
}

// A calibrated model is written like this: with the metadata of the model before it.
TEST_F(Safetensors, AChecksumThatIsGivenIsReplaced) {
  write();
  const TensorMetadata metadata = SafetensorsView(path_).metadata();
  const std::string first = read_bytes(path_);
  write(metadata);
  EXPECT_EQ(read_bytes(path_), first);
  write_safetensors(path_, {{"other", span_of("I64", {2}, bias_)}}, metadata);
  const SafetensorsView view(path_);
  EXPECT_NE(view.meta("plimsoll.checksum"), metadata.at("plimsoll.checksum"));
}

}  // namespace
}  // namespace plimsoll
