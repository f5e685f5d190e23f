#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/rank_watch.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Returns an Exchange over one of torch's process groups (c10d, gloo), whose tensors are in CPU memory.
/// Python creates the group, because torch's wheel has no gloo headers; `name` is the group's name in
/// torch.distributed.
///
/// `describe_lost_rank` is called when a call of the group fails, before RankLost is thrown. It returns,
/// without throwing, a text that names the lost rank and, if known, the reason. The Exchange reports the
/// activity of this rank to `watch`, which must outlive it; null disables this. Errors: Failure if the group
/// does not exist.
std::unique_ptr<Exchange> join_process_group(const std::string& name,
                                             std::function<std::string()> describe_lost_rank,
                                             RankWatch* watch = nullptr);

}  // namespace plimsoll
