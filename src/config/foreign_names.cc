#include "config/foreign_names.h"

#include <algorithm>
#include <array>

#include "config/schema.h"

namespace plimsoll {
namespace {

struct ForeignName {
  std::string_view name;   // The last part of a key, or a section followed by a dot.
  std::string_view value;  // Empty for any value.
  std::string_view instead;
};

constexpr std::string_view kDistillation = "task: distillation trains teachers, then students with them";
constexpr std::string_view kFusion =
    "nothing: evaluate and detect fuse the scores of all parts, by levels of benign traffic alone";
constexpr std::string_view kCurriculum = "curriculum.schedule: kdgat, hard_4to1 or none";
constexpr std::string_view kAlwaysTheBest = "nothing: the weights with the lowest validation loss are kept";
constexpr std::string_view kSameBits = "nothing: a run gives the same bits each time";
constexpr std::string_view kNoTemporal =
    "nothing: there is no temporal stage; data.features: behaviour uses time";

// One line per name, in the order of docs/from-kdgat.md. Lines for a value come before the line for any
// value.
constexpr auto kForeignNames = std::to_array<ForeignName>({
    // Memory.
    {"safety_factor", "", "nothing: --budget is kept exactly, so no share of memory is left idle"},
    {"target_utilization", "", "nothing: --budget is kept exactly, so no share of memory is left idle"},
    {"optimize_batch_size", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"batch_size_mode", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"min_batch_size", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"max_batch_size", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"dynamic_batching", "",
     "training.block: a block is closed at its limit of graphs, nodes or edges, whichever is reached first"},
    {"memory_estimation", "", "memory.estimation: static, measured or trial; `plimsoll plan` prints it"},
    {"clear_cache_every_n", "", "nothing: memory is planned, there is no cache to clear"},
    {"use_teacher_cache", "", "distillation.teacher_outputs: cached, live or offload"},
    {"offload_teacher_to_cpu", "",
     "distillation.teacher_outputs: cached, with no teacher in memory, or offload, with its weights in "
     "memory only while it predicts"},
    {"accumulate_grad_batches", "", "training.batch_size: batches are cut into blocks and summed exactly"},
    {"accumulation_steps", "", "training.batch_size: batches are cut into blocks and summed exactly"},
    {"precision", "",
     "training.precision: 32, or bf16-mixed and 16-mixed on a GPU; on the CPU other precisions are slower, "
     "and training.block saves the memory"},
    {"memory_budget_kb", "", "--budget"},
    {"mem", "", "--budget; without it the limits of SLURM and of cgroups are detected and kept"},
    {"mmap", "", "nothing: data sets are mapped, and opening one needs no memory"},
    // Loading.
    {"num_workers", "", "--threads"},
    {"mp_start_method", "", "--threads: workers are threads and share mapped files"},
    {"prefetch_factor", "", "--prefetch"},
    {"pin_memory", "", "nothing: with --device cuda blocks are copied from pinned memory"},
    {"device", "", "--device cuda, with --device-budget 8GiB or 80%"},
    {"cudnn_benchmark", "", kSameBits},
    {"deterministic", "", kSameBits},
    // Models and tasks to train.
    {"mode", "autoencoder", "task: autoencoder"},
    {"mode", "curriculum",
     "task: distillation with curriculum.schedule: kdgat; --stage teacher runs it alone"},
    {"mode", "knowledge_distillation", kDistillation},
    {"mode", "student_baseline",
     "task: distillation; stage student_gat_alone is the student without a teacher"},
    {"mode", "normal", "task: detection"},
    {"mode", "fusion", kFusion},
    {"mode", "evaluation", "plimsoll evaluate RUN --data DIR"},
    {"mode", "temporal", kNoTemporal},
    {"mode", "flow", "plimsoll train with task: distillation, then plimsoll evaluate"},
    {"mode", "", "task: autoencoder, detection or distillation"},
    {"model_type", "vgae", "task: autoencoder"},
    {"model_type", "gat", "task: detection"},
    {"model_type", "dqn", kFusion},
    {"model_type", "", "task: autoencoder, detection or distillation"},
    {"model", "vgae", "task: autoencoder"},
    {"model", "gat", "task: detection"},
    {"model", "dqn", kFusion},
    {"scale", "", "gat.preset or vgae.preset: small or large"},
    {"model_size", "", "gat.preset or vgae.preset: small for a student, large for a teacher"},
    {"use_kd", "", kDistillation},
    {"auxiliaries", "", kDistillation},
    {"variants", "",
     "task: distillation trains large, small with a teacher and small without, one after the other"},
    {"stages", "", "--stage; without it a task runs all of its stages"},
    {"teacher_path", "", "--teacher FILE; plimsoll import kdgat makes the file of a checkpoint"},
    {"teacher_model_path", "", "--teacher FILE; plimsoll import kdgat makes the file of a checkpoint"},
    {"model_path", "", "--teacher FILE; plimsoll import kdgat makes the file of a checkpoint"},
    {"kd_temperature", "", "distillation.temperature"},
    {"kd_alpha", "", "distillation.alpha"},
    {"vgae_latent_weight", "", "nothing: codes and rebuilt features count one half each, as published"},
    {"vgae_recon_weight", "", "nothing: codes and rebuilt features count one half each, as published"},
    // Models.
    {"use_cugraph", "",
     "nothing: attention is fused on the processor; gat.edge_features or vgae.edge_features gives it the "
     "edge features"},
    {"conv_type", "", "gat.attention: gat or gatv2"},
    {"edge_dim", "", "gat.edge_features or vgae.edge_features: true for all that the data has"},
    {"embedding_dim", "", "gat.embedding or vgae.embedding"},
    {"hidden_dims", "", "vgae.hidden"},
    {"latent_dim", "", "vgae.latent"},
    {"pool_aggrs", "", "gat.pooling: mean, sum or max"},
    {"jk_mode", "", "gat.jk: cat, max or lstm"},
    {"gat_hidden", "", "gat.hidden"},
    {"gat_layers", "", "gat.layers"},
    {"gat_heads", "", "gat.heads"},
    {"gat_dropout", "", "gat.dropout"},
    {"gat_fc_layers", "", "gat.fc_layers"},
    {"gat_embedding_dim", "", "gat.embedding"},
    {"vgae_hidden_dims", "", "vgae.hidden"},
    {"vgae_latent_dim", "", "vgae.latent"},
    {"vgae_heads", "", "vgae.heads"},
    {"vgae_dropout", "", "vgae.dropout"},
    {"vgae_embedding_dim", "", "vgae.embedding"},
    // Training.
    {"lr", "", "training.learning_rate; gat.learning_rate and vgae.learning_rate for one model"},
    {"gradient_clip", "", "training.gradient_clip_val"},
    {"use_scheduler", "", "training.schedule: constant, step, cosine or plateau"},
    {"scheduler_type", "", "training.schedule: constant, step, cosine or plateau"},
    {"scheduler_t_max", "", "nothing: a cosine ends with training.max_epochs"},
    {"scheduler_step_size", "", "training.schedule_epochs"},
    {"scheduler_gamma", "", "training.schedule_factor"},
    {"save_top_k", "", kAlwaysTheBest},
    {"monitor_metric", "", kAlwaysTheBest},
    {"monitor_mode", "", kAlwaysTheBest},
    {"curriculum_start_ratio", "", kCurriculum},
    {"curriculum_end_ratio", "", kCurriculum},
    {"difficulty_percentile", "", kCurriculum},
    {"use_vgae_mining", "", kCurriculum},
    {"difficulty_cache_update", "", kCurriculum},
    {"curriculum_memory_multiplier", "", "nothing: the plan knows the batches of every stage"},
    // Seeing.
    {"profile", "", "run.profile.active, or train --profile: steps are traced for Perfetto"},
    {"profile_steps", "", "run.profile.active: number of steps to trace"},
    {"log_every_n_steps", "", "nothing: RUN/metrics.csv has a line per epoch"},
    {"log_teacher_student_comparison", "",
     "nothing: plimsoll evaluate compares teachers, students and a student trained alone"},
    {"test_every_n_epochs", "", "plimsoll evaluate RUN --data DIR, also while the run trains"},
    {"run_test", "", "plimsoll evaluate RUN --data DIR"},
    {"eval_only", "", "plimsoll evaluate RUN --data DIR"},
    {"return_attention_weights", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"run_explainer", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"explainer_samples", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"explainer_epochs", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"dry_run", "", "plimsoll plan RECIPE --data DIR"},
    // Data and places.
    {"dataset", "", "--data DIR, made by plimsoll ingest can"},
    {"modality", "", "--data DIR, made by plimsoll ingest can"},
    {"window_size", "", "data.window"},
    {"experiment_root", "", "--run DIR"},
    {"model_save_dir", "", "--run DIR"},
    {"schema_version", "", "nothing: a recipe has no version, each key has a default"},
    {"config", "", "the recipe is the first argument: plimsoll train RECIPE"},
    {"preset", "", "gat.preset or vgae.preset: small or large"},
    {"override", "", "-O section.key=value"},
    {"local", "", "nothing: a run is one process, with --threads"},
    // Whole sections.
    {"preprocessing.", "", "data.window and data.stride"},
    {"kd.", "", "distillation.temperature and distillation.alpha"},
    {"dqn.", "", kFusion},
    {"fusion.", "", kFusion},
    {"temporal.", "", kNoTemporal},
});

}  // namespace

std::string_view instead_of(std::string_view name, std::string_view value) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  const std::string_view last = std::string_view(key).substr(key.rfind('.') + 1);
  const auto find = [&](auto is_called) {
    const auto found = std::ranges::find_if(kForeignNames, [&](const ForeignName& known) {
      return is_called(known.name) && (known.value.empty() || known.value == value);
    });
    return found == kForeignNames.end() ? std::string_view() : found->instead;
  };
  const std::string_view of_section =
      find([&](std::string_view known) { return known.ends_with('.') && (key + ".").starts_with(known); });
  return of_section.empty() ? find([&](std::string_view known) { return known == last; }) : of_section;
}

std::string keys_called(std::string_view name) {
  std::string called(name);
  std::replace(called.begin(), called.end(), '-', '_');
  std::string keys;
  Recipe recipe;
  visit_recipe(recipe, [&](const std::string& key, auto&, auto) {
    if (key.starts_with("teacher.") || (key != called && !key.ends_with("." + called))) return;
    keys += (keys.empty() ? "" : " or ") + key;
  });
  return keys;
}

}  // namespace plimsoll
