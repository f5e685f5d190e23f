#include "io/arrow_files.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/shared_library.h"
#include "io/arrow_plugin.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

thread_local std::optional<BudgetExceeded> refusal;

int take_for_arrow(int64_t bytes) {
  // Only a request for 0 bytes reports an interruption, because Arrow may end the process if memory is
  // refused.
  if (bytes == 0 && interrupt_requested) return 1;
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

const SharedLibrary& find_plugin() {
  const fs::path library =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / "libplimsoll_arrow.so";
  static const SharedLibrary plugin(
      library.string(),
      "table files need pyarrow 26: install it (pip install 'pyarrow==26.*') and repeat a "
      "build from source (make build), or pass tables from Python");
  return plugin;
}

// Calls open(pool, error, bytes of error) and throws its error, whose text names the file.
template <typename Open>
void require_opened(const Open& open) {
  constexpr PlimsollArrowPool kPool{take_for_arrow, give_from_arrow};
  std::array<char, 1024> error{};
  refusal.reset();
  if (open(&kPool, error.data(), static_cast<int64_t>(error.size())) == 0) return;
  throw_if_arrow_refused();
  throw InputError(error.data());
}

}  // namespace

void load_arrow() {
  static_cast<void>(find_plugin().function<PlimsollArrowOpen>(kArrowOpen));
}

void open_arrow_file(const fs::path& path, int64_t rows, ArrowArrayStream& stream) {
  if (!fs::is_regular_file(path)) throw InputError(path.string() + ": no such file");
  const auto open = find_plugin().function<PlimsollArrowOpen>(kArrowOpen);
  try {
    require_opened([&](const PlimsollArrowPool* pool, char* error, int64_t bytes) {
      return open(path.c_str(), pool, rows, &stream, error, bytes);
    });
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}: cannot be read ({}); fetch or write the file again", path.string(), error.what()));
  }
}

void open_csv_files(const std::vector<fs::path>& paths, int64_t rows, ArrowArrayStream& stream) {
  std::vector<const char*> names;
  for (const fs::path& path : paths) names.push_back(path.c_str());
  const auto open = find_plugin().function<PlimsollArrowOpenCsv>(kArrowOpenCsv);
  require_opened([&](const PlimsollArrowPool* pool, char* error, int64_t bytes) {
    return open(names.data(), std::ssize(names), pool, rows, &stream, error, bytes);
  });
}

void throw_if_arrow_refused() {
  throw_if_interrupted("reading files of tables");
  if (!refusal) return;
  const BudgetExceeded refused = *std::exchange(refusal, std::nullopt);
  throw refused;
}

}  // namespace plimsoll
