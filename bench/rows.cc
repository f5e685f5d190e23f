// How fast scattered rows are read, beside what the device gives, and how fast they come from the cache.
//
//     bench_rows FILE [GIB]     FILE is made, of GIB (2 by default), and removed; a place on the device to measure
//
// Cold: the page cache is told to let the file go before each measurement. Best of several rounds, interleaved.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <vector>

#include "base/error.h"
#include "rows/shared_scan.h"

namespace plimsoll {
namespace {

constexpr int64_t kRowBytes = 512;
constexpr int kRounds = 5;
constexpr size_t kRows = 20'000;  // a round

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Removed with its scope.
class MadeFile {
 public:
  MadeFile(std::string path, int64_t bytes) : path_(std::move(path)) {
    File file = File::create(path_);
    std::vector<uint64_t> piece(1 << 17);
    std::mt19937_64 random(1);
    for (int64_t at = 0; at < bytes; at += 1 << 20) {
      for (uint64_t& word : piece) word = random();
      file.write(piece.data(), 1 << 20);
    }
    file.sync();
  }
  ~MadeFile() { std::remove(path_.c_str()); }
  MadeFile(const MadeFile&) = delete;
  MadeFile& operator=(const MadeFile&) = delete;
  const std::string& path() const { return path_; }
  void leave_page_cache() const {
    const File file = File::open(path_);
    ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  }

 private:
  std::string path_;
};

std::vector<int64_t> random_rows(size_t count, int64_t rows, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> drawn(count);
  for (int64_t& row : drawn) row = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
  return drawn;
}

// Reads a second of the device itself: no rows, no copies, the depth as many buffers as there are.
double device(const MadeFile& made, ReadWay way, int64_t bytes, int depth, bool in_order, uint32_t seed) {
  const auto opened = open_way(made.path(), way, bytes, depth * bytes);
  if (!opened) return 0;
  auto places = random_rows(depth < 8 ? kRows / 8 : kRows, opened->file->bytes / bytes, seed);
  if (in_order) std::sort(places.begin(), places.end());
  size_t at = 0;
  const auto next = [&](Extent& extent) {
    if (at == places.size()) return false;
    extent = {places[at++] * bytes, bytes, bytes};
    return true;
  };
  made.leave_page_cache();
  const auto start = Clock::now();
  opened->reader->read(next, [](const Extent&, const std::byte*) {});
  return static_cast<double>(places.size()) / seconds_since(start);
}

struct Cold {
  double rows_a_second = 0;
  double amplification = 0;
  double reads_a_row = 0;
  double processor_seconds = 0;  // of one row, all threads and the kernel
};

Cold rows(const MadeFile& made, ReadWay way, int64_t file_rows, uint32_t seed) {
  RowReader reader(made.path(), {0, kRowBytes, file_rows}, {way});
  const auto drawn = random_rows(kRows, file_rows, seed);
  std::vector<std::byte> out(kRows * kRowBytes);
  std::vector<WantedRow> wanted;
  for (size_t i = 0; i < kRows; ++i) wanted.push_back({drawn[i], out.data() + i * kRowBytes});
  made.leave_page_cache();
  const auto start = Clock::now();
  const std::clock_t processor = std::clock();
  reader.read(wanted);
  const double seconds = seconds_since(start);
  const double processor_seconds = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
  const auto& counts = reader.counts();
  return {static_cast<double>(kRows) / seconds,
          static_cast<double>(counts.bytes_read) / static_cast<double>(counts.bytes_wanted),
          static_cast<double>(counts.reads) / static_cast<double>(kRows), processor_seconds / static_cast<double>(kRows)};
}

void measure_cold(const MadeFile& made, int64_t file_rows) {
  constexpr std::array kWays = {ReadWay::ring_direct, ReadWay::pool_direct, ReadWay::ring, ReadWay::pool};
  constexpr std::array kDepths = {1, 4, 16, 32, 64, 128, 256};
  std::map<std::string, double> ceiling;
  std::map<ReadWay, Cold> best;
  uint32_t seed = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (const ReadWay way : {ReadWay::ring_direct, ReadWay::pool_direct})
      for (const int64_t bytes : {512, 4096})
        for (const int depth : kDepths)
          for (const bool in_order : {false, true}) {
            if (way == ReadWay::pool_direct && depth > 16) continue;  // it has no more threads
            if (in_order && depth < 64) continue;
            double& most = ceiling[fmt::format("{:<12} {:>4} bytes, {:>3} under way{}", way_name(way), bytes, depth,
                                               in_order ? ", in the order of the file" : "")];
            most = std::max(most, device(made, way, bytes, depth, in_order, ++seed));
          }
    for (const ReadWay way : kWays) {
      const Cold cold = rows(made, way, file_rows, ++seed);
      if (cold.rows_a_second > best[way].rows_a_second) best[way] = cold;
    }
  }
  double top = 0;
  for (const auto& [name, rate] : ceiling) {
    fmt::print("device  {}  {:>8.0f} reads/s\n", name, rate);
    if (name.find(" 512 bytes") != std::string::npos) top = std::max(top, rate);
  }
  for (const auto& [way, cold] : best)
    fmt::print("rows    {:<12} {:>8.0f} rows/s  {:.2f} of the device  {:.2f} bytes read/useful  {:.2f} reads/row  {:.1f} us of processor/row\n",
               way_name(way), cold.rows_a_second, cold.rows_a_second / top, cold.amplification, cold.reads_a_row, 1e6 * cold.processor_seconds);
}

void measure_warm(const MadeFile& made, int64_t file_rows) {
  fmt::print("chosen  {}\n", way_name(RowReader(made.path(), {0, kRowBytes, file_rows}).way()));
  for (const int64_t held : {4'000, 200'000}) {  // in the processor's caches, and not
    SharedScan scan(made.path(), {0, kRowBytes, file_rows}, SharedScan::least_bytes({0, kRowBytes, file_rows}) + held * 700);
    std::vector<int64_t> drawn = random_rows(static_cast<size_t>(held), file_rows, 9);
    std::sort(drawn.begin(), drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    std::mt19937_64 random(9);
    std::vector<std::byte> out(drawn.size() * kRowBytes);
    double gathered = 0;
    double planned = 0;
    for (int round = 0; round < 2 * kRounds; ++round) {
      std::shuffle(drawn.begin(), drawn.end(), random);
      const auto start = Clock::now();
      if (!scan.plan(drawn)) throw UsageError("no room for the rows of a round");
      const auto begin = Clock::now();
      scan.gather(drawn, out.data());
      const double seconds = seconds_since(begin);
      scan.end(drawn);
      if (round == 0) continue;  // that reads
      gathered = std::max(gathered, static_cast<double>(drawn.size()) / seconds);
      planned = std::max(planned, static_cast<double>(drawn.size()) / seconds_since(start));
    }
    fmt::print("warm    {:>6} rows held  {:>9.0f} rows/s/thread  {:>9.0f} with planning them  misses {}\n", drawn.size(),
               gathered, planned, scan.counters().misses - static_cast<int64_t>(drawn.size()));
  }
}

int run(int argc, char** argv) {
  if (argc < 2 || argc > 3) throw UsageError("usage: bench_rows FILE [GIB]");
  const int64_t bytes = (argc == 3 ? std::atoll(argv[2]) : 2) << 30;
  if (bytes <= 0) throw UsageError("GIB is a number above 0");
  const MadeFile made(argv[1], bytes);
  measure_cold(made, bytes / kRowBytes);
  measure_warm(made, bytes / kRowBytes);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  try {
    return plimsoll::run(argc, argv);
  } catch (const plimsoll::Error& error) {
    fmt::print(stderr, "bench_rows: {}\n", error.what());
    return error.exit_code();
  }
}
