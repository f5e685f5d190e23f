#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "ingest/tables/relbench_folder.h"
#include "ingest/tables/table_spec.h"
#include "ingest/tables/table_words.h"

// A manifest of RelBench is read or refused, and what is read are tables that have files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  for (const char* name : {"users", "orders"}) {
    std::filesystem::create_directories(Scratch::folder() / "db");
    Scratch::write(std::string("db/") + name + ".parquet", "");
  }
  Scratch::write("manifest.yaml", text_of(data, size));
  TablesOptions options;
  succeeds([&] {
    add_relbench_folder({.store = {}, .path = Scratch::folder()}, options);
    expect(options.tables.size() == options.files.size(), "each table has a file");
    check_specs(options.tables);
  });
  // The same bytes as an option about a table.
  TablesOptions words;
  succeeds([&] { add_table(std::string(text_of(data, size)), words); });
  return 0;
}
