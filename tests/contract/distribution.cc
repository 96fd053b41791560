#include "tests/contract/distribution.h"

#include <cstdlib>
#include <typeinfo>
#include <vector>

#include <cxxabi.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

constexpr std::array<const char*, kEvents> kNames = {
    "a session begins beside others",
    "a session takes the place of another",
    "its place was taken already",
    "a silent session is fenced",
    "it was not silent after all",
    "partitions are taken",
    "partitions are left to nobody",
    "an inbox is not shown to another session",
    "a beat is raised",
    "a beat of a session that is none",
    "a session fences all others",
    "a session begins again, its answer was lost",
    "a session ends",
    "a session dies",
    "the others are looked at",
    "a group is split",
    "a split is refused",
    "a group is made",
    "what is in an inbox is taken",
    "results of executors are taken",
    "a batch is committed",
    "the answer to a commit is lost",
    "a commit never arrives",
    "the connection is lost inside a batch",
    "an invalid batch is refused",
    "a wrong number is refused",
    "a batch of a fenced session is refused",
    "a fenced session cannot settle",
    "a split by a fenced session is refused",
    "a fenced session reads",
    "a batch is settled that was not in doubt",
    "all rows are compared",
    "reads are compared",
};

std::string name_of(const std::type_info& type) {
  int status = 0;
  char* const whole = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? whole : type.name();
  std::free(whole);  // NOLINT(cppcoreguidelines-no-malloc): it is malloc's
  const auto colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

template <class Variant, std::size_t... kIndex>
std::vector<std::string> names_of(std::index_sequence<kIndex...>) {
  return {name_of(typeid(std::variant_alternative_t<kIndex, Variant>))...};
}
template <class Variant>
std::vector<std::string> names_of() {
  return names_of<Variant>(std::make_index_sequence<std::variant_size_v<Variant>>{});
}

}  // namespace

std::string kind_of(const Operation& operation) {
  return names_of<Operation>().at(operation.index());
}

void Distribution::note(const Operation& operation, const Outcome& outcome) {
  OfOperation& of = of_operations_.at(operation.index());
  ++operations_;
  switch (outcome.kind) {
    case OutcomeKind::kDone:
      ++of.done;
      break;
    case OutcomeKind::kConflict:
    case OutcomeKind::kTaken:
      ++of.conflicts;
      break;
    case OutcomeKind::kAnswered:
      ++of.answered;
      break;
  }
}

void Distribution::note(const Read& question, bool says) {
  OfRead& of = of_reads_.at(question.index());
  ++of.asked;
  if (says) ++of.said;
}

void Distribution::expect_all() const {
  const auto operations = names_of<Operation>();
  for (std::size_t i = 0; i < operations.size(); ++i)
    EXPECT_GT(of_operations_.at(i).done, 0) << operations[i] << " was never done";
  const auto reads = names_of<Read>();
  for (std::size_t i = 0; i < reads.size(); ++i)
    EXPECT_GT(of_reads_.at(i).said, 0) << reads[i] << " was never answered with anything";
  const std::size_t first = is_shared_ ? 0 : static_cast<std::size_t>(Event::kBeatOfNobody);
  for (std::size_t i = first; i < kEvents; ++i) {
    if (is_shared_ && i == static_cast<std::size_t>(Event::kBegunAlone)) continue;
    EXPECT_GT(events_.at(i), 0) << "it never was that " << kNames.at(i);
  }
}

void Distribution::print(std::ostream& out) const {
  out << operations_ << " operations: done, conflict or taken, answered before\n";
  const auto operations = names_of<Operation>();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const OfOperation& of = of_operations_.at(i);
    out << "  " << operations[i] << ' ' << of.done << ' ' << of.conflicts << ' ' << of.answered
        << '\n';
  }
  out << "reads: asked, answered with something\n";
  const auto reads = names_of<Read>();
  for (std::size_t i = 0; i < reads.size(); ++i)
    out << "  " << reads[i] << ' ' << of_reads_.at(i).asked << ' ' << of_reads_.at(i).said << '\n';
  out << "and so often\n";
  for (std::size_t i = 0; i < kEvents; ++i)
    out << "  " << events_.at(i) << ' ' << kNames.at(i) << '\n';
}

}  // namespace carillon::jobtracker
