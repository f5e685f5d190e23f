#include "io/arrow_files.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/shared_library.h"
#include "io/arrow_plugin.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

thread_local std::optional<BudgetExceeded> refusal;

int take_for_arrow(int64_t bytes) {
  try {
    Ledger::process().take(Tag::ingest, bytes);
    return 0;
  } catch (const BudgetExceeded& refused) {  // No exception may pass through Arrow.
    refusal = refused;
    return 1;
  }
}

void give_from_arrow(int64_t bytes) {
  Ledger::process().give(Tag::ingest, bytes);
}

PlimsollArrowOpen find_plugin() {
  const fs::path library =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / "libplimsoll_arrow.so";
  static const SharedLibrary plugin(library.string(),
                                    "table files need pyarrow 26: install it (pip install pyarrow==26.*) and "
                                    "build again (make build), or pass tables from Python");
  return plugin.function<PlimsollArrowOpen>(kArrowOpen);
}

}  // namespace

void load_arrow() {
  find_plugin();
}

void open_arrow_file(const fs::path& path, int64_t rows, ArrowArrayStream& stream) {
  if (!fs::is_regular_file(path)) throw InputError(path.string() + ": no such file");
  constexpr PlimsollArrowPool kPool{take_for_arrow, give_from_arrow};
  std::array<char, 1024> error{};
  refusal.reset();
  if (find_plugin()(path.c_str(), &kPool, rows, &stream, error.data(), error.size()) == 0) return;
  throw_if_arrow_refused();
  throw InputError(
      fmt::format("{}: cannot be read ({}); fetch or write the file again", path.string(), error.data()));
}

void throw_if_arrow_refused() {
  if (!refusal) return;
  const BudgetExceeded refused = *std::exchange(refusal, std::nullopt);
  throw refused;
}

}  // namespace plimsoll
