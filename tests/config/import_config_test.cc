#include "config/import_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.h"
#include "config/recipe.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ImportConfig, AConfigurationInJson) {
  const ImportedConfig found = import_config(
      "{\"training\": {\n"
      "  \"lr\": 0.003, \"batch_size\": 4096,\n"
      "  \"safety_factor\": 0.5, \"memory_estimation\": \"trial\"},\n"
      " \"gradient_checkpointing\": true, \"num_workers\": 8, \"max_epochs\": 300}",
      "config.json", {});
  EXPECT_THAT(
      found.taken,
      ElementsAre("config.json:2:3: training.lr: 0.003 becomes training.learning_rate: 0.003",
                  "config.json:2:16: training.batch_size: 4096",
                  "config.json:3:25: training.memory_estimation: trial becomes memory.estimation: trial",
                  "config.json:4:2: gradient_checkpointing: true becomes "
                  "training.gradient_checkpointing: true",
                  "config.json:4:52: max_epochs: 300 becomes training.max_epochs: 300"));
  EXPECT_THAT(
      found.dropped,
      ElementsAre(
          HasSubstr("config.json:3:3: training.safety_factor: 0.5: instead: nothing: --budget is kept"),
          HasSubstr("config.json:4:34: num_workers: 8: instead: --threads")));
  const Recipe recipe = parse_recipe(found.recipe, "recipe", {});
  EXPECT_EQ(recipe.training.learning_rate, 0.003);
  EXPECT_EQ(recipe.training.batch_size, 4096);
  EXPECT_EQ(recipe.memory.estimation, Estimation::trial);
}

TEST(ImportConfig, VariablesOfAShellScript) {
  const ImportedConfig found = import_config(
      "#!/bin/bash\nBATCH_SIZE=4  # was 16\nexport HIDDEN_CHANNELS=\"32\"\nNUM_INTERACTIONS=2\n"
      "NUM_RBF_CENTERS=10\nDEVICE='cuda'\nLOG_DIR=$HOME/logs\nexport "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
      "python train.py --epochs=3\n",
      "run_gtssl_pretrain.sh", {"task=graph_classification", "model=sgmp"});
  const Recipe recipe = parse_recipe(found.recipe, "recipe", {});
  EXPECT_EQ(recipe.training.batch_size, 4);
  EXPECT_EQ(recipe.paths.hidden, 32);
  EXPECT_EQ(recipe.paths.layers, 2);
  EXPECT_EQ(recipe.paths.centers, 10);
  EXPECT_EQ(recipe.task, "graph_classification");
  EXPECT_EQ(found.taken.size(), 4);
  EXPECT_THAT(
      found.dropped,
      ElementsAre(HasSubstr("run_gtssl_pretrain.sh:6:1: device: cuda: instead: --device cuda"),
                  HasSubstr(":7:1: log_dir: $HOME/logs: no key of a recipe has this name"),
                  HasSubstr(":8:1: pytorch_cuda_alloc_conf: expandable_segments:True: instead: nothing")));
}

TEST(ImportConfig, AssignmentsInOtherForms) {
  const ImportedConfig found = import_config(
      "readonly BATCH_SIZE=4\r\ndeclare -i SEED=7\r\nlocal LR=0.5\r\nX=" + std::string(100'000, 'a') +
          "\ntest $A = 3\n",
      "job.sh", {});
  const Recipe recipe = parse_recipe(found.recipe, "recipe", {});
  EXPECT_EQ(recipe.training.batch_size, 4);
  EXPECT_EQ(recipe.seed, 7);
  EXPECT_EQ(recipe.training.learning_rate, 0.5);
  EXPECT_EQ(found.dropped.size(), 1);
}

TEST(ImportConfig, SeveralAssignmentsInALine) {
  const ImportedConfig found = import_config(
      "BATCH_SIZE=4; export SEED=7;LR=0.5 # ; MAX_EPOCHS=3\nDATA=\"a;PATIENCE=2\"\n", "job.sh", {});
  EXPECT_THAT(found.taken,
              ElementsAre("job.sh:1:1: batch_size: 4 becomes training.batch_size: 4", "job.sh:1:15: seed: 7",
                          "job.sh:1:29: lr: 0.5 becomes training.learning_rate: 0.5"));
  EXPECT_EQ(found.dropped.size(), 1);  // The quoted semicolon does not end the assignment of DATA.
}

TEST(ImportConfig, TheTrainerOfLightning) {
  const ImportedConfig found = import_config(
      "trainer:\n  max_epochs: 30\n  gradient_clip_val: 0.5\n  precision: bf16-mixed\n  accelerator: gpu\n"
      "  devices: 4\n  callbacks: x\n",
      "config.yaml", {});
  const Recipe recipe = parse_recipe(found.recipe, "recipe", {});
  EXPECT_EQ(recipe.training.max_epochs, 30);
  EXPECT_EQ(recipe.training.gradient_clip_val, 0.5);
  EXPECT_EQ(recipe.training.precision, Precision::bf16_mixed);
  EXPECT_THAT(found.dropped,
              ElementsAre(HasSubstr("5:3: trainer.accelerator: gpu: instead: --device cuda"),
                          HasSubstr("6:3: trainer.devices: 4: instead: --ranks, one for each GPU"),
                          HasSubstr("7:3: trainer.callbacks: x: no key of a recipe has this name")));
}

TEST(ImportConfig, AnchorsThatMultiplyAreRefused) {
  std::string text = "a0: &a0 {k: 1}\n";
  for (int level = 1; level < 9; ++level) {
    text += fmt::format("a{0}: &a{0} {{", level);
    for (int key = 0; key < 6; ++key)
      text += fmt::format("{}k{}: *a{}", key == 0 ? "" : ", ", key, level - 1);
    text += "}\n";
  }
  EXPECT_THROW(import_config(text, "config.yaml", {}), UsageError);
}

// The values of these names mean something else than those of the keys that the answers name.
TEST(ImportConfig, WhatOnlyResemblesAKeyIsDropped) {
  const ImportedConfig found = import_config(
      "{min_batch_size: 8, accumulation_steps: 4, optimize_batch_size: true, use_scheduler: true}", "c.yaml",
      {});
  EXPECT_THAT(found.taken, IsEmpty());
  EXPECT_EQ(found.dropped.size(), 4);
  EXPECT_EQ(found.recipe, "");
}

TEST(ImportConfig, AValueThatTheKeyRefusesIsDroppedWithTheReason) {
  const ImportedConfig found =
      import_config("training: {batch_size: many, scheduler_type: exponential}", "c.yaml", {});
  EXPECT_THAT(found.taken, IsEmpty());
  EXPECT_THAT(
      found.dropped,
      ElementsAre(HasSubstr("training.batch_size is 'many', expected a whole number"),
                  HasSubstr("exponential: instead: training.schedule: constant, step, cosine or plateau")));
}

TEST(ImportConfig, Mistakes) {
  const auto error_of = [](const std::string& text, const std::vector<std::string>& overrides = {}) {
    return error_text<UsageError>([&] { import_config(text, "c.json", overrides); });
  };
  EXPECT_THAT(error_of("{\"a\": "), HasSubstr("c.json:1:1: neither YAML nor JSON"));
  EXPECT_THAT(error_of("BATCH_SIZE=4"), HasSubstr("expected a map of settings"));
  EXPECT_THAT(
      error_of("{lr: 1, learning_rate: 2}"),
      HasSubstr(
          "c.json:1:9: 'learning_rate' would set training.learning_rate to 2, but c.json:1:2 sets it to 1"));
  EXPECT_THAT(error_of("{}", {"training.lr=1"}), HasSubstr("-O training.lr=1: unknown key"));
  EXPECT_THAT(error_of("{}", {"seed"}), HasSubstr("expected section.key=value"));
}

}  // namespace
}  // namespace plimsoll
