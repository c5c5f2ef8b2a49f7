// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/conservation.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rapidcheck/state.h>

#include <map>
#include <optional>
#include <set>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::actors {
namespace {

using Ids = std::vector<TrajectoryId>;

Conservation with_closed(size_t count) {
  Conservation ledger;
  for (size_t i = 0; i < count; ++i) (void)ledger.close(ledger.admit());
  return ledger;
}

TEST(ConservationTest, IdsAreTheOrderOfAdmission) {
  Conservation ledger;
  EXPECT_EQ(ledger.admit(), 1U);
  EXPECT_EQ(ledger.admit(), 2U);
  EXPECT_EQ(ledger.counts().in_flight(), 2U);
}

TEST(ConservationTest, SegmentsCountUpwardsAndRepeatsChangeNothing) {
  Conservation ledger;
  const auto id = ledger.admit();
  EXPECT_EQ(ledger.append(id, 0).value(), Change::made);
  EXPECT_EQ(ledger.append(id, 0).value(), Change::already);
  EXPECT_EQ(ledger.append(id, 2).error().message, "append: trajectory 1 expects segment 1, got 2");
  EXPECT_EQ(ledger.at(id).segments, 1U);
}

TEST(ConservationTest, ClosedTrajectoryRefusesNewSegmentsButAllowsRepeats) {
  Conservation ledger;
  const auto id = ledger.admit();
  ASSERT_TRUE(ledger.append(id, 0).has_value());
  ASSERT_TRUE(ledger.close(id).has_value());
  EXPECT_EQ(ledger.append(id, 0).value(), Change::already);
  EXPECT_EQ(ledger.append(id, 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(ledger.close(id).value(), Change::already);
}

TEST(ConservationTest, TheFirstDropReasonIsKept) {
  Conservation ledger;
  const auto id = ledger.admit();
  EXPECT_EQ(ledger.drop(id, DropReason::stale).value(), Change::made);
  EXPECT_EQ(ledger.drop(id, DropReason::cancelled).value(), Change::already);
  EXPECT_EQ(ledger.at(id).reason, DropReason::stale);
  EXPECT_EQ(ledger.close(id).error().message, "close: trajectory 1 was dropped (stale)");
}

TEST(ConservationTest, SteppedIsTrainedOnlyWhenItsCheckpointIsDurable) {
  Conservation ledger = with_closed(3);
  ASSERT_TRUE(ledger.train(1, Ids{1}).has_value());
  ASSERT_TRUE(ledger.train(2, Ids{2, 3}).has_value());
  EXPECT_EQ(ledger.counts().trained(), 0U);
  ASSERT_TRUE(ledger.checkpointed(1).has_value());
  EXPECT_EQ(ledger.counts().trained(), 1U);
  EXPECT_EQ(ledger.counts().in_flight(), 2U);
}

TEST(ConservationTest, RestoreReturnsLaterStepsToFlight) {
  Conservation ledger = with_closed(3);
  ASSERT_TRUE(ledger.train(1, Ids{1}).has_value());
  ASSERT_TRUE(ledger.checkpointed(1).has_value());
  ASSERT_TRUE(ledger.train(2, Ids{2}).has_value());
  EXPECT_EQ(ledger.restore(1).value(), 1U);
  EXPECT_EQ(ledger.in_phase(TrajectoryPhase::closed), (Ids{2, 3}));
  EXPECT_EQ(ledger.train(2, Ids{3, 2}).value(), Change::made);
}

TEST(ConservationTest, RestoreToAnOlderCheckpointUntrainsLaterTrajectories) {
  Conservation ledger = with_closed(2);
  ASSERT_TRUE(ledger.train(1, Ids{1}).has_value());
  ASSERT_TRUE(ledger.train(2, Ids{2}).has_value());
  ASSERT_TRUE(ledger.checkpointed(2).has_value());
  EXPECT_EQ(ledger.restore(1).value(), 1U);
  EXPECT_EQ(ledger.counts().trained(), 1U);
  EXPECT_EQ(ledger.restore(2).error().code, ErrorCode::invalid_argument);
}

TEST(ConservationTest, AStepUsesAllItsTrajectoriesOrNone) {
  Conservation ledger = with_closed(2);
  const auto open = ledger.admit();
  EXPECT_FALSE(ledger.train(1, Ids{1, 2, open}).has_value());
  EXPECT_FALSE(ledger.train(1, Ids{1, 99}).has_value());
  EXPECT_FALSE(ledger.train(1, Ids{1, 1}).has_value());
  EXPECT_EQ(ledger.counts().of(TrajectoryPhase::closed), 2U);
}

TEST(ConservationTest, StepsMustIncrease) {
  Conservation ledger = with_closed(3);
  ASSERT_TRUE(ledger.train(4, Ids{1}).has_value());
  EXPECT_EQ(ledger.train(4, Ids{2}).error().message, "train: step 4 is over; expected at least 5");
  EXPECT_FALSE(ledger.train(2, Ids{2}).has_value());
  EXPECT_EQ(ledger.train(4, Ids{}).value(), Change::already);
  EXPECT_EQ(ledger.train(9, Ids{2}).value(), Change::made);
}

TEST(ConservationTest, RepeatedStepChangesNothingAndAnotherUseIsRefused) {
  Conservation ledger = with_closed(2);
  ASSERT_EQ(ledger.train(1, Ids{1}).value(), Change::made);
  EXPECT_EQ(ledger.train(1, Ids{1}).value(), Change::already);
  EXPECT_FALSE(ledger.train(1, Ids{1, 2}).has_value());
  EXPECT_FALSE(ledger.train(2, Ids{1}).has_value());
  EXPECT_FALSE(ledger.drop(1, DropReason::stale).has_value());
}

TEST(ConservationTest, UnknownIdIsNotFound) {
  Conservation ledger;
  EXPECT_EQ(ledger.append(0, 0).error().code, ErrorCode::not_found);
  EXPECT_EQ(ledger.close(5).error().message, "trajectory 5 was never admitted");
}

// The model stores the requests as facts and derives every phase from them.
struct Facts {
  bool closed = false;
  std::optional<DropReason> dropped;
  std::vector<uint32_t> uses;  // steps of the surviving lineage that used it
  uint32_t segments = 0;
};
struct Model {
  std::vector<Facts> all;
  uint32_t durable = 0;
  uint32_t newest = 0;
};
struct Ledger {
  Conservation core;
};

void check_law(const Model& model, const Conservation& core) {
  uint64_t trained = 0;
  uint64_t flying = 0;
  std::map<DropReason, uint64_t> dropped;
  for (const Facts& facts : model.all) {
    RC_ASSERT(facts.uses.size() <= 1U);  // not twice in the surviving lineage
    const bool durable = !facts.uses.empty() && facts.uses.front() <= model.durable;
    if (facts.dropped) {
      ++dropped[*facts.dropped];
    } else if (durable) {
      ++trained;
    } else {
      ++flying;
    }
  }
  const ConservationCounts& counts = core.counts();
  RC_ASSERT(counts.is_conserved());
  RC_ASSERT(counts.admitted == model.all.size());
  RC_ASSERT(counts.trained() == trained);
  RC_ASSERT(counts.in_flight() == flying);
  for (size_t r = 0; r < enum_names<DropReason>.size(); ++r) {
    RC_ASSERT(counts.dropped_by_reason[r] == dropped[static_cast<DropReason>(r)]);
  }
}

using Base = rc::state::Command<Model, Ledger>;

TrajectoryId any_id(const Model& model) {
  return *rc::gen::inRange<TrajectoryId>(0, model.all.size() + 2);
}
Facts* facts_of(Model& model, TrajectoryId id) {
  return id >= 1 && id <= model.all.size() ? &model.all[id - 1] : nullptr;
}

struct Admit : Base {
  void apply(Model& model) const override { model.all.emplace_back(); }
  void run(const Model& model, Ledger& ledger) const override {
    RC_ASSERT(ledger.core.admit() == model.all.size() + 1);
    check_law(nextState(model), ledger.core);
  }
  void show(std::ostream& os) const override { os << "admit"; }
};

struct Append : Base {
  TrajectoryId id;
  uint32_t number = *rc::gen::inRange<uint32_t>(0, 4);
  explicit Append(const Model& model) : id(any_id(model)) {}
  void apply(Model& model) const override {
    Facts* facts = facts_of(model, id);
    const bool open = facts != nullptr && !facts->closed && !facts->dropped;
    if (open && number == facts->segments) ++facts->segments;
  }
  void run(const Model& model, Ledger& ledger) const override {
    (void)ledger.core.append(id, number);
    const Model next = nextState(model);
    if (id >= 1 && id <= next.all.size()) {
      RC_ASSERT(ledger.core.at(id).segments == next.all[id - 1].segments);
    }
    check_law(next, ledger.core);
  }
  void show(std::ostream& os) const override { os << "append " << id << ' ' << number; }
};

struct Close : Base {
  TrajectoryId id;
  explicit Close(const Model& model) : id(any_id(model)) {}
  void apply(Model& model) const override {
    Facts* facts = facts_of(model, id);
    if (facts != nullptr && !facts->dropped) facts->closed = true;
  }
  void run(const Model& model, Ledger& ledger) const override {
    (void)ledger.core.close(id);
    check_law(nextState(model), ledger.core);
  }
  void show(std::ostream& os) const override { os << "close " << id; }
};

struct Drop : Base {
  TrajectoryId id;
  DropReason reason = static_cast<DropReason>(
      *rc::gen::inRange<int>(0, static_cast<int>(enum_names<DropReason>.size())));
  explicit Drop(const Model& model) : id(any_id(model)) {}
  void apply(Model& model) const override {
    Facts* facts = facts_of(model, id);
    if (facts != nullptr && facts->uses.empty() && !facts->dropped) facts->dropped = reason;
  }
  void run(const Model& model, Ledger& ledger) const override {
    (void)ledger.core.drop(id, reason);
    check_law(nextState(model), ledger.core);
  }
  void show(std::ostream& os) const override { os << "drop " << id; }
};

struct Train : Base {
  uint32_t step;
  Ids ids;
  explicit Train(const Model& model) : step(*rc::gen::inRange<uint32_t>(0, model.newest + 3)) {
    for (uint32_t i = *rc::gen::inRange<uint32_t>(0, 4); i > 0; --i) ids.push_back(any_id(model));
  }
  bool accepted(Model& model) const {
    const std::set<TrajectoryId> unique(ids.begin(), ids.end());
    bool good = unique.size() == ids.size() && step > model.newest;
    for (const TrajectoryId id : ids) {
      const Facts* facts = facts_of(model, id);
      good = good && facts != nullptr && facts->closed && !facts->dropped && facts->uses.empty();
    }
    return good;
  }
  void apply(Model& model) const override {
    if (!accepted(model)) return;
    for (const TrajectoryId id : ids) facts_of(model, id)->uses.push_back(step);
    model.newest = step;
  }
  void run(const Model& model, Ledger& ledger) const override {
    Model before = model;
    const auto result = ledger.core.train(step, ids);
    RC_ASSERT((result.has_value() && *result == Change::made) == accepted(before));
    check_law(nextState(model), ledger.core);
  }
  void show(std::ostream& os) const override { os << "train " << step << ' ' << rc::toString(ids); }
};

struct Checkpointed : Base {
  uint32_t step;
  explicit Checkpointed(const Model& model)
      : step(*rc::gen::inRange<uint32_t>(0, model.newest + 2)) {}
  void apply(Model& model) const override {
    if (step <= model.newest) model.durable = std::max(model.durable, step);
  }
  void run(const Model& model, Ledger& ledger) const override {
    RC_ASSERT(ledger.core.checkpointed(step).has_value() == (step <= model.newest));
    check_law(nextState(model), ledger.core);
  }
  void show(std::ostream& os) const override { os << "checkpointed " << step; }
};

/// A crash: the run resumes from some checkpoint, most often the durable one.
struct Restore : Base {
  uint32_t step;
  explicit Restore(const Model& model)
      : step(*rc::gen::weightedOneOf<uint32_t>(
            {{3, rc::gen::just(model.durable)},
             {1, rc::gen::inRange<uint32_t>(0, model.newest + 2)}})) {}
  void apply(Model& model) const override {
    if (step > model.newest) return;
    for (Facts& facts : model.all) {
      if (!facts.uses.empty() && facts.uses.front() > step) facts.uses.clear();
    }
    model.durable = model.newest = step;
  }
  void run(const Model& model, Ledger& ledger) const override {
    RC_ASSERT(ledger.core.restore(step).has_value() == (step <= model.newest));
    const Model next = nextState(model);
    check_law(next, ledger.core);
    RC_ASSERT(ledger.core.last_step() == next.newest);
  }
  void show(std::ostream& os) const override { os << "restore " << step; }
};

RC_GTEST_PROP(ConservationProperty, LawHoldsAfterEveryRequestAndEveryCrash, ()) {
  Model model;
  Ledger ledger;
  rc::state::check(model, ledger,
                   rc::state::gen::execOneOfWithArgs<Admit, Append, Close, Close, Drop, Train,
                                                     Train, Checkpointed, Restore>());
}

}  // namespace
}  // namespace warpsmith::actors
