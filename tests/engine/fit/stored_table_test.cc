#include "engine/fit/stored_table.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "engine/blocks/batch_sum.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kRows = 60, kWidth = 4, kSlots = 12, kOfStep = 10;
constexpr uint64_t kSeed = 11;

std::vector<int64_t> some_rows(std::mt19937& random) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < kOfStep; ++i) rows.push_back(static_cast<int64_t>(random() % kRows));
  return rows;
}

BlockGradients gradients(const at::Tensor& table, const at::Tensor& places, int step) {
  return {
      {at::sin(at::arange(places.numel() * kWidth, at::kFloat) + step).view({-1, kWidth})}, table, places};
}

// A table in memory, or on a disk with a few slots, and its optimizer.
struct Model {
  explicit Model(StoredTable* stored) : table(stored) {
    std::optional<StoredParameter> parameter;
    if (stored != nullptr) parameter.emplace(StoredTable::kName, *stored);
    parameters.add(StoredTable::kName, {kRows, kWidth}, Init::normal());
    parameters.make_lazy(StoredTable::kName);
    value = parameters.entries()[0].value.detach();
    optimizer = make_optimizer({value}, {.learning_rate = 0.1}, {true});
    sum.emplace(parameters);
  }
  void step(const std::vector<int64_t>& rows, int number) {
    const at::Tensor ids = at::tensor(rows, at::kLong);
    sum->clear();
    sum->add(gradients(parameters.entries()[0].value, table == nullptr ? ids : table->hold(ids), number),
             BlockStatistics(), 0);
    clip_gradients(sum->gradients, 0.3, sum->rows);
    optimizer->step(sum->gradients, sum->rows);
    if (table != nullptr) table->end_step(sum->rows[0]);
  }

  StoredTable* table;
  ParameterList parameters{kSeed};
  at::Tensor value;
  std::unique_ptr<Optimizer> optimizer;
  std::optional<BatchSum> sum;
};

class StoredTableTest : public testing::Test {
 protected:
  StoredTable::Options options() const {
    return {.sizes = {.rows = kRows, .width = kWidth, .moments = 2},
            .slots = kSlots,
            .seed = kSeed,
            .folder = folder_.path()};
  }
  TempFolder folder_;
};

TEST_F(StoredTableTest, StepsHaveTheBitsOfATableInMemory) {
  StoredTable table(options());
  Model disk(&table), memory(nullptr);
  table.attach(disk.parameters, *disk.optimizer);
  table.start();
  std::mt19937 random(1);
  for (int step = 0; step < 100; ++step) {
    const std::vector<int64_t> rows = some_rows(random);
    disk.step(rows, step);
    memory.step(rows, step);
    const at::Tensor ids = at::tensor(some_rows(random), at::kLong);
    ASSERT_TRUE(at::equal(table.read(ids), memory.value.index_select(0, ids))) << step;
  }
  EXPECT_EQ(disk.parameters.hash(), memory.parameters.hash());
  EXPECT_EQ(disk.parameters.count(), memory.parameters.count());
}

TEST_F(StoredTableTest, AKilledProcessContinuesFromItsLastCheckpoint) {
  StoredTable table(options());
  Model killed(&table), memory(nullptr);
  table.attach(killed.parameters, *killed.optimizer);
  table.start();
  std::mt19937 random(2);
  std::vector<std::vector<int64_t>> rows;
  for (int step = 0; step < 40; ++step) rows.push_back(some_rows(random));
  std::vector<std::byte> places;
  for (int step = 0; step < 30; ++step) {
    killed.step(rows[static_cast<size_t>(step)], step);
    if (step != 19) continue;
    const std::span<const std::byte> now = table.before_checkpoint();
    places.assign(now.begin(), now.end());
    table.after_checkpoint();
  }
  StoredTable again(options());
  Model resumed(&again);
  again.attach(resumed.parameters, *resumed.optimizer);
  again.resume(places);
  resumed.optimizer->set_steps(20);
  for (int step = 0; step < 40; ++step) {
    memory.step(rows[static_cast<size_t>(step)], step);
    if (step >= 20) resumed.step(rows[static_cast<size_t>(step)], step);
  }
  EXPECT_EQ(resumed.parameters.hash(), memory.parameters.hash());
}

TEST_F(StoredTableTest, TheBestEpochIsRestored) {
  StoredTable table(options());
  Model disk(&table), memory(nullptr);
  table.attach(disk.parameters, *disk.optimizer);
  table.start();
  std::mt19937 random(3);
  std::string best;
  for (int step = 0; step < 30; ++step) {
    const std::vector<int64_t> rows = some_rows(random);
    disk.step(rows, step);
    memory.step(rows, step);
    if (step != 14) continue;
    table.keep_best();
    table.before_checkpoint();
    table.after_checkpoint();
    best = memory.parameters.hash();
  }
  table.restore_best();
  EXPECT_EQ(disk.parameters.hash(), best);
}

TEST_F(StoredTableTest, AStepWithMoreRowsThanSlotsIsAnError) {
  StoredTable table(options());
  const Model disk(&table);
  table.attach(disk.parameters, *disk.optimizer);
  table.start();
  EXPECT_THROW(table.hold(at::arange(kSlots + 1)), Failure);
}

}  // namespace
}  // namespace plimsoll
