#include "io/location.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

TEST(Location, IsAPathUnlessItHasAScheme) {
  for (const char* text : {"orders/*.parquet", "/data/a:b", "s3", "s3:/x", "", "://x"}) {
    const Location location = parse_location(text);
    EXPECT_FALSE(location.is_object()) << text;
    EXPECT_EQ(location.path, text);
    EXPECT_EQ(location.text(), text);
  }
}

TEST(Location, SeparatesTheStoreFromTheKey) {
  const Location location = parse_location("s3://shop/a b/*.parquet?scheme=http&region=eu-west-1");
  EXPECT_EQ(location.store, "s3://shop?scheme=http&region=eu-west-1");
  EXPECT_EQ(location.path, "shop/a b/*.parquet");
  EXPECT_EQ(location.text(), "s3://shop/a b/*.parquet");
  EXPECT_EQ((parse_location("s3://shop/") / "db").text(), "s3://shop/db");
}

TEST(Location, NeverShowsCredentials) {
  const Location location = parse_location("s3://key:secret@shop/x@y.parquet");
  EXPECT_EQ(location.store, "s3://key:secret@shop");
  EXPECT_EQ(location.text(), "s3://shop/x@y.parquet");
  EXPECT_EQ(without_credentials("users=s3://key:secret@shop/u.parquet:key=id"),
            "users=s3://...@shop/u.parquet:key=id");
  EXPECT_EQ(without_credentials("users=u@v.parquet"), "users=u@v.parquet");
  // A secret with a / would be taken for a bucket and a key.
  const std::string error = error_text<UsageError>([] { parse_location("s3://key:se/cret@shop/x.parquet"); });
  EXPECT_EQ(error.find("cret@"), std::string::npos);
}

TEST(Location, RefusesOtherSchemesAndMissingBuckets) {
  for (const char* text : {"gs://shop/x", "file:///x", "s3://", "s3:///x", "s3://*/x", "s3://me:secret@/x"})
    EXPECT_THROW(parse_location(text), UsageError) << text;
}

}  // namespace
}  // namespace plimsoll
