#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "can/profile/profile_sums.h"
#include "support/behaviour_test.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

// Makes benign traffic of one drive: a wheel pair and a counter with a checksum, a slow number, and a switch.
// IDs depend on the drive.
std::vector<Frame> drive(uint32_t seed, int frames, bool moves = true) {
  std::mt19937 random(seed);
  std::vector<Frame> all;
  int speed = 20000;
  int level = 0;
  for (int k = 0; k < frames; ++k) {
    const int64_t time = k * 10 * kMs + static_cast<int64_t>(random() % kMs);
    if (moves) speed += static_cast<int>(900 * std::sin(k / 30.0)) + static_cast<int>(random() % 41) - 20;
    const int other = speed + static_cast<int>(random() % 7);
    all.push_back({time,
                   0x100,
                   {static_cast<uint8_t>(speed >> 8), static_cast<uint8_t>(speed),
                    static_cast<uint8_t>(other >> 8), static_cast<uint8_t>(other)}});
    std::vector<uint8_t> checked(8);
    checked[0] = static_cast<uint8_t>(k);
    checked[1] = static_cast<uint8_t>(random());
    checked[2] = static_cast<uint8_t>(random());
    checked[7] = static_cast<uint8_t>(checked[0] ^ checked[1] ^ checked[2]);
    all.push_back({time + 2 * kMs, 0x180, checked});
    level += static_cast<int>(random() % 3) - 1;
    if (k % 5 == 0) all.push_back({time + 4 * kMs, 0x200 + seed, {static_cast<uint8_t>(level)}});
  }
  return all;
}

// Learns the profile of several drives at once.
LearnedDrive at_once(const std::vector<std::vector<Frame>>& drives) {
  std::vector<Frame> frames;
  std::vector<Recording> recordings(drives.size());
  std::vector<FrameWindow> runs;
  for (size_t d = 0; d < drives.size(); ++d) {
    runs.push_back({&recordings[d], std::ssize(frames), std::ssize(drives[d])});
    frames.insert(frames.end(), drives[d].begin(), drives[d].end());
  }
  const FrameBatch batch = batch_of(frames);
  ProfileSums sums;
  BehaviourProfile profile = BehaviourProfile::learn(batch.spans(), runs, &sums);
  return {std::move(profile), std::move(sums)};
}

LearnedDrive merged(const std::vector<std::vector<Frame>>& drives) {
  std::vector<LearnedDrive> apart;
  for (const auto& drive : drives) apart.push_back(at_once({drive}));
  ProfileSums sums;
  BehaviourProfile profile = BehaviourProfile::merged(apart, sums);
  return {std::move(profile), std::move(sums)};
}

void expect_same(const NamedTensors& one, const NamedTensors& other,
                 const std::vector<std::string>& but = {}) {
  for (const auto& [name, tensor] : one) {
    if (std::ranges::find(but, name) != but.end()) continue;
    ASSERT_TRUE(other.contains(name)) << name;
    EXPECT_EQ(tensor.shape, other.at(name).shape) << name;
    EXPECT_TRUE(std::ranges::equal(tensor.data, other.at(name).data)) << name;
  }
}

// These tensors may differ: sums of logarithms are rounded in another order, bounds of steps are not tight,
// and records of arrivals come from more and smaller parts.
const std::vector<std::string> kNear = {"profile.gap_mean", "profile.gap_units", "profile.signal_steps",
                                        "profile.signal_means", "profile.arrival_margin"};

TEST(MergedProfile, IsThatOfAllDrivesAtOnceInTheBitsOfWhatIsCounted) {
  const auto drives = std::vector{drive(1, 1500), drive(2, 900), drive(3, 1200)};
  const LearnedDrive all = at_once(drives);
  const LearnedDrive apart = merged(drives);
  ASSERT_GE(all.profile.signals().signals().size(), 4U);
  ASSERT_EQ(all.profile.pairs().pairs().size(), 1U);
  ASSERT_EQ(all.profile.checksums().checksums().size(), 1U);
  expect_same(all.profile.tensors(), apart.profile.tensors(), kNear);
  expect_same(apart.profile.tensors(), all.profile.tensors(), kNear);
  for (int32_t id = 0; id < all.profile.vocabulary().size(); ++id) {
    EXPECT_NEAR(apart.profile.id(id).gap_mean, all.profile.id(id).gap_mean, 1e-12);
    EXPECT_NEAR(apart.profile.id(id).gap_units / all.profile.id(id).gap_units, 1, 1e-9);
    const Arrival& arrival = all.profile.arrivals().for_id(id);
    EXPECT_LE(apart.profile.arrivals().for_id(id).two.margin, arrival.two.margin);
  }
  for (size_t s = 0; s < all.profile.signals().signals().size(); ++s) {
    const Signal& one = all.profile.signals().signals()[s];
    const Signal& other = apart.profile.signals().signals()[s];
    EXPECT_EQ(one.slope, other.slope);
    EXPECT_EQ(one.offset, other.offset);
    EXPECT_GE(other.max, one.max * (1 - 1e-12)) << "nothing benign exceeds it";
    EXPECT_LE(other.max, 1.5 * one.max + 1) << "by no more than the lines differ";
    EXPECT_GE(other.max_mean, one.max_mean * (1 - 1e-12));
  }
}

TEST(MergedProfile, DoesNotDependOnTheOrderOfDrivesOrOnHowTheyAreGrouped) {
  const auto a = drive(1, 1500);
  const auto b = drive(2, 900);
  const auto c = drive(3, 1200);
  const LearnedDrive all = merged({a, b, c});
  // If a byte is not a counter, the votes for its steps depend on their order.
  const std::vector<std::string> rounded = {"profile.gap_mean", "profile.gap_units", "profile.sums.gaps",
                                            "profile.sums.ids"};
  const LearnedDrive other = merged({c, a, b});
  expect_same(all.profile.tensors(), other.profile.tensors(), rounded);
  expect_same(all.sums.tensors(), other.sums.tensors(), rounded);
  ProfileSums sums;
  const std::vector<LearnedDrive> grouped = {merged({b, a}), at_once({c})};
  const BehaviourProfile profile = BehaviourProfile::merged(grouped, sums);
  expect_same(all.profile.tensors(), profile.tensors(), kNear);
  expect_same(all.sums.tensors(), sums.tensors(), rounded);
}

TEST(MergedProfile, OfOneDriveIsItsOwn) {
  const LearnedDrive one = at_once({drive(1, 800)});
  ProfileSums sums;
  expect_same(one.profile.tensors(), BehaviourProfile::merged({&one, 1}, sums).tensors());
  expect_same(one.sums.tensors(), sums.tensors());
}

TEST(MergedProfile, ASignalThatADriveHoldsStaysAndItsHoldCounts) {
  const auto stands = drive(2, 300, false);
  ASSERT_TRUE(at_once({stands}).profile.signals().for_id(0).empty() ||
              at_once({stands}).profile.signals().for_id(0)[0].first_bit > 15);
  const LearnedDrive apart = merged({drive(1, 3000), stands});
  const Signal& speed = apart.profile.signals().for_id(0).front();
  EXPECT_LT(speed.first_bit, 16);
  EXPECT_EQ(speed.longest_hold, 300);
  EXPECT_LE(speed.min, 20000U);
  EXPECT_GE(speed.greatest, 20000U);
}

TEST(MergedProfile, AChecksumStaysIfNoDriveIsWithoutIt) {
  auto without = drive(2, 900);
  const LearnedDrive with = merged({drive(1, 900), without});
  EXPECT_EQ(with.profile.checksums().checksums().size(), 1U);
  for (Frame& frame : without)
    if (frame.can_id == 0x180)
      frame.payload[7] = static_cast<uint8_t>(frame.payload[7] + frame.payload[1] % 2);
  EXPECT_TRUE(merged({drive(1, 900), without}).profile.checksums().checksums().empty());
}

// A drive of one ID every 10 ms, and its sums as in a file that has this many gaps.
LearnedDrive with_gaps(int64_t gaps) {
  LearnedDrive drive = at_once({every(10 * kMs, 0x100, 26)});
  NamedTensors tensors = drive.sums.tensors();
  reinterpret_cast<double*>(tensors["profile.sums.gaps"].data.data())[2] =
      static_cast<double>(gaps * 10 * kMs);
  reinterpret_cast<int64_t*>(tensors["profile.sums.ids"].data.data())[1] = gaps;
  reinterpret_cast<int64_t*>(tensors["profile.sums.spans"].data.data())[3] = gaps;
  drive.sums = ProfileSums::from_tensors(tensors, drive.profile);
  return drive;
}

TEST(MergedProfile, OfMoreGapsThanABinHoldsIsRefused) {
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  ProfileSums sums;
  const std::vector<LearnedDrive> max = {with_gaps(kMax - 25), with_gaps(25)};
  const int64_t longest = max[1].profile.id(0).longest_gap;
  ASSERT_GT(longest, 0);
  EXPECT_EQ(BehaviourProfile::merged(max, sums).id(0).longest_gap, longest);
  const std::vector<LearnedDrive> more = {with_gaps(kMax), with_gaps(kMax)};
  EXPECT_NE(error_text<InputError>([&] {
              BehaviourProfile::merged(more, sums);
            }).find("exceeds 4294967295; merge fewer"),
            std::string::npos);
}

TEST(MergedProfile, OfCountsThatDoNotFitIsRefused) {
  const LearnedDrive drive = at_once({every(10 * kMs, 0x100, 26)});
  for (const char* const name : {"profile.sums.traffic", "profile.sums.ids", "profile.sums.arrivals"}) {
    NamedTensors tensors = drive.sums.tensors();
    reinterpret_cast<int64_t*>(tensors[name].data.data())[0] = std::numeric_limits<int64_t>::max();
    const LearnedDrive many{drive.profile, ProfileSums::from_tensors(tensors, drive.profile)};
    ProfileSums sums;
    const std::vector<LearnedDrive> drives = {many, drive};
    EXPECT_NE(error_text<InputError>([&] { BehaviourProfile::merged(drives, sums); }).find("merge fewer"),
              std::string::npos)
        << name;
  }
}

TEST(MergedProfile, OfManyIdsHasNoTransitions) {
  constexpr int kIds = 5000;
  static_assert(kIds > BehaviourProfile::kMaxIds);
  std::vector<Frame> frames;
  for (int i = 0; i < 2 * kIds; ++i) frames.push_back({i * kMs, static_cast<uint32_t>(i % kIds)});
  const LearnedDrive one = at_once({frames});
  ProfileSums sums;
  const std::vector<LearnedDrive> drives = {one, at_once({every(10 * kMs, 1, 30)})};
  const BehaviourProfile profile = BehaviourProfile::merged(drives, sums);
  EXPECT_EQ(profile.vocabulary().size(), kIds);
  EXPECT_FALSE(profile.has_transition(1, 1));
  EXPECT_EQ(sums.ids[1].payloads(), 32);
}

TEST(ProfileSums, GoThroughAFileAndDamageIsNamed) {
  const LearnedDrive one = at_once({drive(1, 800)});
  const NamedTensors whole = one.sums.tensors();
  expect_same(whole, ProfileSums::from_tensors(whole, one.profile).tensors());
  EXPECT_NE(
      error_text<InputError>([&] { ProfileSums::from_tensors({}, one.profile); }).find("earlier version"),
      std::string::npos);
  for (const auto& [name, tensor] : whole) {
    NamedTensors damaged = whole;
    damaged.erase(name);
    EXPECT_THROW(ProfileSums::from_tensors(damaged, one.profile), InputError) << name;
    if (tensor.dtype == "F64") continue;
    damaged = whole;
    reinterpret_cast<int64_t*>(damaged[name].data.data())[0] = -5;
    EXPECT_NE(error_text<InputError>([&] { ProfileSums::from_tensors(damaged, one.profile); }).find(name),
              std::string::npos)
        << name;
  }
  // These spans do not match the gaps, so a search would run past the last bin.
  NamedTensors damaged = whole;
  reinterpret_cast<int64_t*>(damaged["profile.sums.spans"].data.data())[3] += 1;
  EXPECT_THROW(ProfileSums::from_tensors(damaged, one.profile), InputError);
}

}  // namespace
}  // namespace plimsoll
