#include "autograder/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "autograder/counts.hpp"
#include "vgpu/core/profile.hpp"

namespace scanlab::grade {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t largest_n = 1u << 30;

/// A JSON object at a known place. Every getter remembers its key; finish() refuses the keys nobody asked for.
class Object {
 public:
  Object(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object()) throw KitFault(fmt::format("{}: expected an object, got {}", shown(), json_.type_name()));
  }

  std::string place(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  /// Null when the key is absent or its value is null.
  const Json* find(const char* key) {
    known_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& get(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) throw KitFault(fmt::format("{}: missing", place(key)));
    return *value;
  }

  std::string text(const char* key) { return as_text(get(key), place(key)); }
  std::string text(const char* key, std::string fallback) {
    const Json* value = find(key);
    return value == nullptr ? std::move(fallback) : as_text(*value, place(key));
  }

  std::uint64_t whole(const char* key, std::uint64_t least, std::uint64_t most) {
    return as_whole(get(key), place(key), least, most);
  }

  std::optional<double> number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) throw KitFault(fmt::format("{}: expected a number, got {}", place(key), value->dump()));
    return value->get<double>();
  }

  const Json& list(const char* key) {
    const Json& value = get(key);
    if (!value.is_array()) throw KitFault(fmt::format("{}: expected a list, got {}", place(key), value.type_name()));
    return value;
  }

  void finish() const {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) throw KitFault(fmt::format("{}: unknown key", place(key)));
    }
  }

  static std::string as_text(const Json& value, const std::string& place) {
    if (!value.is_string()) throw KitFault(fmt::format("{}: expected text, got {}", place, value.type_name()));
    return value.get<std::string>();
  }

  static std::uint64_t as_whole(const Json& value, const std::string& place, std::uint64_t least, std::uint64_t most) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      if (number >= least && number <= most) return number;
    }
    throw KitFault(fmt::format("{}: expected a whole number from {} to {}, got {}", place, least, most, value.dump()));
  }

 private:
  std::string shown() const { return path_.empty() ? "the plan" : path_; }

  const Json& json_;
  std::string path_;
  std::set<std::string> known_;
};

/// The value that goes with `text`.
template <typename T>
T choice(const std::string& text, const std::string& place, std::initializer_list<std::pair<const char*, T>> values) {
  std::string names;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  }
  throw KitFault(fmt::format("{}: expected one of {}, got \"{}\"", place, names, text));
}

/// The name of a profile of the virtual GPU.
std::string profile(Object& object, std::string fallback) {
  if (object.find("profile") == nullptr) return fallback;
  std::string name = object.text("profile");
  try {
    vgpu::profile_by_name(name);
  } catch (const std::invalid_argument& error) {
    throw KitFault(fmt::format("{}: {}", object.place("profile"), error.what()));
  }
  return name;
}

Limits parse_limits(Object object) {
  Limits limits;
  limits.seconds = object.number("seconds").value_or(limits.seconds);
  if (!(limits.seconds > 0 && limits.seconds <= 86400)) {
    throw KitFault(fmt::format("{}: expected more than 0 and at most 86400", object.place("seconds")));
  }
  if (object.find("warp_instructions") != nullptr) {
    limits.warp_instructions = object.whole("warp_instructions", 1, 1ull << 50);
  }
  if (object.find("output_bytes") != nullptr) limits.output_bytes = object.whole("output_bytes", 0, 1u << 30);
  object.finish();
  return limits;
}

void parse_correctness(Object& object, CheckPlan& check) {
  const Json& sizes = object.list("sizes");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    check.sizes.push_back(Object::as_whole(sizes[i], fmt::format("{}[{}]", object.place("sizes"), i), 0, largest_n));
  }
  if (check.sizes.empty()) throw KitFault(object.place("sizes") + ": expected at least one size");
  // The first failure is then the smallest.
  std::sort(check.sizes.begin(), check.sizes.end());
  check.sizes.erase(std::unique(check.sizes.begin(), check.sizes.end()), check.sizes.end());

  const Json& schedules = object.list("schedules");
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", object.place("schedules"), i);
    const std::string name = Object::as_text(schedules[i], place);
    try {
      check.schedules.push_back(vgpu::order_by_name(name));
    } catch (const std::invalid_argument& error) {
      throw KitFault(fmt::format("{}: {}", place, error.what()));
    }
  }
  if (check.schedules.empty()) throw KitFault(object.place("schedules") + ": expected at least one schedule");
  check.repeats = static_cast<unsigned>(object.whole("repeats", 1, 1000));
}

void parse_count(Object& object, CheckPlan& check) {
  check.n = object.whole("n", 0, largest_n);
  check.counter = object.text("counter");
  if (!is_counter(check.counter)) {
    throw KitFault(fmt::format("{}: no counter is called \"{}\"", object.place("counter"), check.counter));
  }
  check.at_most = object.number("at_most");
  check.at_least = object.number("at_least");
  if (!check.at_most && !check.at_least) {
    throw KitFault(fmt::format("{}: expected at_most, at_least or both", object.place("at_most")));
  }
}

CheckPlan parse_check(Object object) {
  const std::initializer_list<std::pair<const char*, Operation>> entries = {{"inclusive_scan", Operation::inclusive},
                                                                            {"exclusive_scan", Operation::exclusive}};
  const std::initializer_list<std::pair<const char*, Operation>> operations = {{"inclusive", Operation::inclusive},
                                                                               {"exclusive", Operation::exclusive}};

  CheckPlan check;
  check.name = object.text("name");
  if (check.name.empty()) throw KitFault(object.place("name") + ": expected a name, got \"\"");
  check.title = object.text("title", check.name);
  check.kind =
      choice<CheckPlan::Kind>(object.text("kind"), object.place("kind"),
                              {{"correctness", CheckPlan::Kind::correctness}, {"count", CheckPlan::Kind::count}});
  check.entry = choice(object.text("entry"), object.place("entry"), entries);
  check.operation = choice(object.text("operation", name_of(check.entry)), object.place("operation"), operations);
  check.element = choice<ElementType>(object.text("element"), object.place("element"),
                                      {{"float", ElementType::floats}, {"affine", ElementType::affine}});
  const std::optional<double> points = object.number("points");
  if (!points || !(*points >= 0)) throw KitFault(object.place("points") + ": expected a number, 0 or more");
  check.points = *points;
  check.needs = object.text("needs", "");
  check.explain = object.text("explain", "");
  check.profile = profile(object, "");
  // A check of one kind may carry the other's keys, as null.
  const bool is_correctness = check.kind == CheckPlan::Kind::correctness;
  const std::vector<const char*> others = is_correctness
                                              ? std::vector<const char*>{"n", "counter", "at_most", "at_least"}
                                              : std::vector<const char*>{"sizes", "schedules", "repeats"};
  for (const char* key : others) {
    if (object.find(key) != nullptr) {
      throw KitFault(fmt::format("{}: not a key of a {} check", object.place(key), object.text("kind")));
    }
  }
  is_correctness ? parse_correctness(object, check) : parse_count(object, check);
  object.finish();
  return check;
}

/// Names are unique, `needs` names an earlier check, and every element has its runner.
void check_references(const Plan& plan) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.checks.size(); ++i) {
    const CheckPlan& check = plan.checks[i];
    if (!check.needs.empty() && !names.contains(check.needs)) {
      throw KitFault(fmt::format("checks[{}].needs: no earlier check is called \"{}\"", i, check.needs));
    }
    if (!names.insert(check.name).second) {
      throw KitFault(fmt::format("checks[{}].name: a second check is called \"{}\"", i, check.name));
    }
    if (!plan.runners.contains(name_of(check.element))) {
      throw KitFault(fmt::format("runners.{0}: missing, and checks[{1}] is of element {0}", name_of(check.element), i));
    }
  }
}

}  // namespace

const char* entry_name(Operation entry) {
  return entry == Operation::inclusive ? "inclusive_scan" : "exclusive_scan";
}

Plan parse_plan(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw KitFault(fmt::format("not JSON: {}", error.what()));
  }

  Object object(json, "");
  object.whole("version", 1, 1);
  Plan plan;
  plan.lab = object.text("lab");
  plan.title = object.text("title", plan.lab);
  plan.device =
      choice<Plan::Device>(object.text("device"), "device", {{"vgpu", Plan::Device::vgpu}, {"gpu", Plan::Device::gpu}});
  plan.profile = profile(object, plan.profile);
  plan.seed = object.whole("seed", 0, std::numeric_limits<std::uint64_t>::max());
  plan.section = object.whole("section", 0, largest_n);
  if (object.find("block_size") != nullptr) plan.block_size = object.whole("block_size", 0, 1024);
  plan.source = object.text("source", "");
  plan.again = object.text("again", "");
  if (const Json* limits = object.find("limits")) plan.limits = parse_limits(Object(*limits, "limits"));
  const Json& runners = object.get("runners");
  Object runner_object(runners, "runners");
  for (const char* element : {"float", "affine"}) {
    const std::string path = runner_object.text(element, "");
    if (!path.empty()) plan.runners[element] = path;
  }
  runner_object.finish();
  const Json& checks = object.list("checks");
  for (std::size_t i = 0; i < checks.size(); ++i) {
    plan.checks.push_back(parse_check(Object(checks[i], fmt::format("checks[{}]", i))));
  }
  object.finish();
  check_references(plan);
  return plan;
}

Plan read_plan(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw KitFault(fmt::format("cannot read the plan {}", path.string()));
  try {
    return parse_plan(text.str());
  } catch (const KitFault& fault) {
    throw KitFault(fmt::format("{}: {}", path.string(), fault.what()));
  }
}

}  // namespace scanlab::grade
