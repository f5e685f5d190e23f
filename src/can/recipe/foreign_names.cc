#include "can/recipe/foreign_names.h"

#include <array>

#include "config/foreign_names.h"

namespace plimsoll {
namespace {

constexpr std::string_view kDistillation = "task: distillation trains teachers, then students with them";
constexpr std::string_view kNoTemporal =
    "nothing: there is no temporal stage; data.features: behaviour uses time";
constexpr std::string_view kFusion =
    "nothing: evaluate and detect fuse the scores of all parts, by levels of benign traffic alone";
constexpr std::string_view kCurriculum = "curriculum.schedule: kdgat, hard_4to1 or none";

// One entry per name, in the order of docs/from-kdgat.md.
constexpr auto kKdGatNames = std::to_array<ForeignName>({
    // Memory.
    {"use_teacher_cache", "", "distillation.teacher_outputs: cached, live or offload"},
    {"offload_teacher_to_cpu", "true",
     "distillation.teacher_outputs: cached, with no teacher in memory, or offload, with its weights in "
     "memory only while it predicts",
     "distillation.teacher_outputs=offload"},
    {"offload_teacher_to_cpu", "",
     "distillation.teacher_outputs: cached, with no teacher in memory, or offload, with its weights in "
     "memory only while it predicts"},
    // Tasks and models to train.
    {"mode", "autoencoder", "task: autoencoder", "task=autoencoder"},
    {"mode", "curriculum",
     "task: distillation with curriculum.schedule: kdgat; --stage teacher runs it alone",
     "task=distillation"},
    {"mode", "knowledge_distillation", kDistillation, "task=distillation"},
    {"mode", "student_baseline",
     "task: distillation; stage student_gat_alone is the student without a teacher", "task=distillation"},
    {"mode", "normal", "task: detection", "task=detection"},
    {"mode", "fusion", kFusion},
    {"mode", "evaluation", "plimsoll evaluate RUN --data DIR"},
    {"mode", "temporal", kNoTemporal},
    {"mode", "flow", "plimsoll train with task: distillation, then plimsoll evaluate"},
    {"mode", "", "task: autoencoder, detection or distillation"},
    {"model_type", "vgae", "task: autoencoder", "task=autoencoder"},
    {"model_type", "gat", "task: detection", "task=detection"},
    {"model_type", "dqn", kFusion},
    {"model_type", "", "task: autoencoder, detection or distillation"},
    {"model", "vgae", "task: autoencoder", "task=autoencoder"},
    {"model", "gat", "task: detection", "task=detection"},
    {"model", "dqn", kFusion},
    {"scale", "", "gat.preset or vgae.preset: small or large"},
    {"model_size", "", "gat.preset or vgae.preset: small for a student, large for a teacher"},
    {"use_kd", "true", kDistillation, "task=distillation"},
    {"use_kd", "", kDistillation},
    {"auxiliaries", "", kDistillation},
    {"variants", "",
     "task: distillation trains large, small with a teacher and small without, one after the other"},
    {"teacher_path", "", "--teacher FILE; plimsoll import kdgat makes the file of a checkpoint"},
    {"teacher_model_path", "", "--teacher FILE; plimsoll import kdgat makes the file of a checkpoint"},
    {"model_path", "", "--teacher FILE; plimsoll import kdgat makes the file of a checkpoint"},
    {"kd_temperature", "", "distillation.temperature", "distillation.temperature"},
    {"kd_alpha", "", "distillation.alpha", "distillation.alpha"},
    {"vgae_latent_weight", "", "nothing: codes and rebuilt features count one half each, as published"},
    {"vgae_recon_weight", "", "nothing: codes and rebuilt features count one half each, as published"},
    // Models.
    {"use_cugraph", "",
     "nothing: attention is fused on the processor; gat.edge_features or vgae.edge_features gives it the "
     "edge features"},
    {"conv_type", "", "gat.attention: gat or gatv2", "gat.attention"},
    {"edge_dim", "", "gat.edge_features or vgae.edge_features: true for all that the data has"},
    {"embedding_dim", "", "gat.embedding or vgae.embedding"},
    {"hidden_dims", "", "vgae.hidden", "vgae.hidden"},
    {"latent_dim", "", "vgae.latent", "vgae.latent"},
    {"pool_aggrs", "", "gat.pooling: mean, sum or max", "gat.pooling"},
    {"jk_mode", "", "gat.jk: cat, max or lstm", "gat.jk"},
    {"gat_hidden", "", "gat.hidden", "gat.hidden"},
    {"gat_layers", "", "gat.layers", "gat.layers"},
    {"gat_heads", "", "gat.heads", "gat.heads"},
    {"gat_dropout", "", "gat.dropout", "gat.dropout"},
    {"gat_fc_layers", "", "gat.fc_layers", "gat.fc_layers"},
    {"gat_embedding_dim", "", "gat.embedding", "gat.embedding"},
    {"vgae_hidden_dims", "", "vgae.hidden", "vgae.hidden"},
    {"vgae_latent_dim", "", "vgae.latent", "vgae.latent"},
    {"vgae_heads", "", "vgae.heads", "vgae.heads"},
    {"vgae_dropout", "", "vgae.dropout", "vgae.dropout"},
    {"vgae_embedding_dim", "", "vgae.embedding", "vgae.embedding"},
    // Training.
    {"lr", "", "training.learning_rate; gat.learning_rate and vgae.learning_rate for one model",
     "training.learning_rate"},
    {"curriculum_start_ratio", "", kCurriculum},
    {"curriculum_end_ratio", "", kCurriculum},
    {"difficulty_percentile", "", kCurriculum},
    {"use_vgae_mining", "", kCurriculum},
    {"difficulty_cache_update", "", kCurriculum},
    // Inspection.
    {"log_teacher_student_comparison", "",
     "nothing: plimsoll evaluate compares teachers, students and a student trained alone"},
    {"return_attention_weights", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"run_explainer", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"explainer_samples", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    {"explainer_epochs", "", "plimsoll evaluate RUN --data DIR --attention FOLDER"},
    // Data and paths.
    {"dataset", "", "--data DIR, made by plimsoll ingest can"},
    {"modality", "", "--data DIR, made by plimsoll ingest can"},
    {"window_size", "", "data.window", "data.window"},
    {"preset", "", "gat.preset or vgae.preset: small or large"},
    // Whole keys, then sections.
    {"preprocessing.window", "", "data.window and data.stride", "data.window"},
    {"preprocessing.stride", "", "data.window and data.stride", "data.stride"},
    {"kd.temperature", "", "distillation.temperature and distillation.alpha", "distillation.temperature"},
    {"kd.alpha", "", "distillation.temperature and distillation.alpha", "distillation.alpha"},
    {"gat.embedding_dim", "", "gat.embedding or vgae.embedding", "gat.embedding"},
    {"vgae.embedding_dim", "", "gat.embedding or vgae.embedding", "vgae.embedding"},
    {"gat.lr", "", "training.learning_rate; gat.learning_rate and vgae.learning_rate for one model",
     "gat.learning_rate"},
    {"vgae.lr", "", "training.learning_rate; gat.learning_rate and vgae.learning_rate for one model",
     "vgae.learning_rate"},
    {"preprocessing.", "", "data.window and data.stride"},
    {"kd.", "", "distillation.temperature and distillation.alpha"},
    {"dqn.", "", kFusion},
    {"fusion.", "", kFusion},
    {"temporal.", "", kNoTemporal},
});

}  // namespace

void register_kdgat_names() {
  register_foreign_names(kKdGatNames);
}

}  // namespace plimsoll
