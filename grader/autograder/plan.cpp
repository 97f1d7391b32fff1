#include "autograder/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "autograder/check/checks.hpp"
#include "vgpu/core/explore/trail.hpp"
#include "vgpu/core/run/profile.hpp"

namespace scanlab::grade {

namespace {

using Value = nlohmann::json;

constexpr std::uint64_t largest_n = 1u << 30;
constexpr std::uint64_t most_instructions = 1ull << 50;
constexpr std::uint64_t most_lines = 1'000'000;

[[noreturn]] void refuse(const std::string& place, std::string_view why) {
  throw KitFault(fmt::format("{}: {}", place, why));
}

/// What `make` gives; what it finds invalid stands at `place`.
template <typename Make>
auto made_at(const std::string& place, Make make) {
  try {
    return make();
  } catch (const std::invalid_argument& error) {
    refuse(place, error.what());
  }
}

std::string as_text(const Value& value, const std::string& place) {
  if (!value.is_string()) refuse(place, fmt::format("expected text, got {}", value.type_name()));
  return value.get<std::string>();
}

std::uint64_t as_whole(const Value& value, const std::string& place, std::uint64_t least, std::uint64_t most) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number >= least && number <= most) return number;
  }
  refuse(place, fmt::format("expected a whole number from {} to {}, got {}", least, most, value.dump()));
}

/// A JSON object at a known place. Every getter remembers its key; finish() refuses the keys that were not asked for.
class Object {
 public:
  Object(const Value& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object())
      refuse(path_.empty() ? "the plan" : path_, fmt::format("expected an object, got {}", json_.type_name()));
  }

  std::string place(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  /// Null when the key is absent or its value is null.
  const Value* find(const char* key) {
    known_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Value& get(const char* key) {
    const Value* value = find(key);
    if (value == nullptr) refuse(place(key), "missing");
    return *value;
  }

  std::string text(const char* key) { return as_text(get(key), place(key)); }
  std::string text(const char* key, std::string fallback) { return find(key) == nullptr ? fallback : text(key); }

  std::uint64_t whole(const char* key, std::uint64_t least, std::uint64_t most) {
    return as_whole(get(key), place(key), least, most);
  }
  std::uint64_t whole(const char* key, std::uint64_t least, std::uint64_t most, std::uint64_t fallback) {
    return find(key) == nullptr ? fallback : whole(key, least, most);
  }

  bool boolean(const char* key, bool fallback) {
    const Value* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) refuse(place(key), fmt::format("expected true or false, got {}", value->dump()));
    return value->get<bool>();
  }

  std::optional<double> number(const char* key) {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) refuse(place(key), fmt::format("expected a number, got {}", value->dump()));
    return value->get<double>();
  }

  /// Of at most a day.
  double seconds(double fallback) {
    const double value = number("seconds").value_or(fallback);
    if (!(value > 0 && value <= 86400)) refuse(place("seconds"), "expected more than 0 and at most 86400");
    return value;
  }

  /// Calls each(value, its place).
  template <typename Each>
  void list(const char* key, Each each) {
    const Value& values = get(key);
    if (!values.is_array()) refuse(place(key), fmt::format("expected a list, got {}", values.type_name()));
    for (std::size_t i = 0; i < values.size(); ++i) each(values[i], fmt::format("{}[{}]", place(key), i));
  }

  void finish() const {
    for (const auto& [key, value] : json_.items())
      if (!known_.contains(key)) refuse(place(key), "unknown key");
  }

 private:
  const Value& json_;
  std::string path_;
  std::set<std::string> known_;
};

/// The value that goes with `text`.
template <typename T>
T choice(const std::string& text, const std::string& place, const std::vector<std::pair<const char*, T>>& values) {
  std::string names;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  }
  refuse(place, fmt::format("expected one of {}, got \"{}\"", names, text));
}

/// The value of a list of the contract.
template <typename E>
E choice(const std::string& text, const std::string& place) {
  std::vector<std::pair<const char*, E>> values;
  for (const char* name : contract::names<E>) values.emplace_back(name, *contract::value_of<E>(name));
  return choice(text, place, values);
}

/// The name of a profile of the virtual GPU.
std::string profile(Object& object, std::string fallback) {
  if (object.find("profile") == nullptr) return fallback;
  std::string name = object.text("profile");
  made_at(object.place("profile"), [&] { return vgpu::profile_by_name(name); });
  return name;
}

Limits parse_limits(Object object) {
  Limits limits;
  limits.seconds = object.seconds(limits.seconds);
  limits.warp_instructions = object.whole("warp_instructions", 1, most_instructions, limits.warp_instructions);
  limits.output_bytes = object.whole("output_bytes", 0, 1u << 30, limits.output_bytes);
  object.finish();
  return limits;
}

Prove parse_prove(Object object) {
  Prove prove;
  prove.blocks = object.whole("blocks", 2, 8);
  prove.warp_instructions = object.whole("warp_instructions", 1, most_instructions);
  prove.seconds = object.seconds(0);
  object.finish();
  return prove;
}

std::string parse_trail(Object& object) {
  std::string trail = object.text("trail", "");
  made_at(object.place("trail"),
          [&] { return vgpu::Trail::parse(std::string_view(trail).substr(trail.find(':') + 1)); });
  return trail;
}

vgpu::Schedule::Order order_at(const Value& value, const std::string& place) {
  return made_at(place, [&] { return vgpu::order_by_name(as_text(value, place)); });
}

PlannedCall parse_call(Object& object) {
  PlannedCall call;
  call.n = object.whole("n", 0, largest_n);
  call.order = order_at(object.get("schedule"), object.place("schedule"));
  call.repeat = static_cast<unsigned>(object.whole("repeat", 0, 999, call.repeat));
  return call;
}

void parse_count(Object& object, CheckPlan& check) {
  check.counter = object.text("counter");
  if (!contract::value_of<contract::Counter>(check.counter))
    refuse(object.place("counter"), fmt::format("no counter is called \"{}\"", check.counter));
  check.among = object.text("among", "");
  object.list("calls", [&](const Value& json, const std::string& place) {
    Object counted(json, place);
    CountedCall call{parse_call(counted), counted.number("at_most"), counted.number("at_least")};
    if (!call.at_most && !call.at_least) refuse(counted.place("at_most"), "expected at_most, at_least or both");
    counted.finish();
    check.calls.push_back(call);
  });
  if (check.calls.empty()) refuse(object.place("calls"), "expected at least one call");
}

/// What is counted in calls of a correctness check, as a check of the same entry and element.
CheckPlan parse_work(Object object, const CheckPlan& host) {
  CheckPlan work{.name = host.name,
                 .title = host.title,
                 .kind = CheckPlan::Kind::count,
                 .entry = host.entry,
                 .operation = host.operation,
                 .element = host.element};
  work.explain = object.text("explain", "");
  parse_count(object, work);
  object.finish();
  return work;
}

void parse_correctness(Object& object, CheckPlan& check) {
  object.list("sizes", [&](const Value& size, const std::string& place) {
    check.sizes.push_back(as_whole(size, place, 0, largest_n));
  });
  if (check.sizes.empty()) refuse(object.place("sizes"), "expected at least one size");
  // The first failure is then the smallest.
  std::ranges::sort(check.sizes);
  check.sizes.erase(std::unique(check.sizes.begin(), check.sizes.end()), check.sizes.end());

  object.list("schedules", [&](const Value& schedule, const std::string& place) {
    check.schedules.push_back(order_at(schedule, place));
  });
  if (check.schedules.empty()) refuse(object.place("schedules"), "expected at least one schedule");
  check.repeats = static_cast<unsigned>(object.whole("repeats", 1, 1000));
  check.repeated_up_to = object.whole("repeated_up_to", 0, largest_n, check.repeated_up_to);
  if (const Value* prove = object.find("prove")) check.prove = parse_prove(Object(*prove, object.place("prove")));
  if (check.prove && has_count(check.entry)) refuse(object.place("prove"), "only scans are explored");
  if (const Value* work = object.find("work"))
    check.work.push_back(parse_work(Object(*work, object.place("work")), check));
  if (object.find("extra") == nullptr) return;
  object.list("extra", [&](const Value& extra, const std::string& place) {
    Object call(extra, place);
    check.extra.push_back(parse_call(call));
    call.finish();
  });
}

void parse_timing(Object& object, CheckPlan& check) {
  if (check.element != ElementType::float_)
    refuse(object.place("element"), "a timing check is of float: its data is exact in floats");
  if (check.entry == Operation::compact)
    refuse(object.place("entry"), "no timing check of compact: how much it writes depends on the data");
  check.n = object.whole("n", 1, largest_n);
  const auto number = [&](const char* key, double fallback, double more_than, double most) {
    const double value = object.number(key).value_or(fallback);
    if (value > more_than && value <= most) return value;
    refuse(object.place(key), fmt::format("expected a number, more than {:g} and at most {:g}", more_than, most));
  };
  check.full = number("full", 0, 0, 1000);
  check.none = number("none", 0, check.full, 1e6);
  check.seconds = number("seconds", check.seconds, 0, 3600);
}

/// Keys that only checks of one kind have. A check may carry those of other kinds as null.
constexpr std::pair<const char*, CheckPlan::Kind> keys_of_kinds[] = {{"sizes", CheckPlan::Kind::correctness},
                                                                     {"schedules", CheckPlan::Kind::correctness},
                                                                     {"repeats", CheckPlan::Kind::correctness},
                                                                     {"repeated_up_to", CheckPlan::Kind::correctness},
                                                                     {"extra", CheckPlan::Kind::correctness},
                                                                     {"prove", CheckPlan::Kind::correctness},
                                                                     {"work", CheckPlan::Kind::correctness},
                                                                     {"counter", CheckPlan::Kind::count},
                                                                     {"calls", CheckPlan::Kind::count},
                                                                     {"among", CheckPlan::Kind::count},
                                                                     {"n", CheckPlan::Kind::timing},
                                                                     {"full", CheckPlan::Kind::timing},
                                                                     {"none", CheckPlan::Kind::timing},
                                                                     {"seconds", CheckPlan::Kind::timing}};

CheckPlan parse_check(Object object) {
  std::vector<std::pair<const char*, Operation>> entries;
  for (const Operation operation : all_operations()) entries.emplace_back(entry_name(operation), operation);

  CheckPlan check;
  check.name = object.text("name");
  if (check.name.empty()) refuse(object.place("name"), "expected a name, got \"\"");
  check.title = object.text("title", check.name);
  check.kind = choice<CheckPlan::Kind>(object.text("kind"), object.place("kind"));
  check.entry = choice(object.text("entry"), object.place("entry"), entries);
  check.operation = choice<Operation>(object.text("operation", name_of(check.entry)), object.place("operation"));
  if (has_count(check.entry) != has_count(check.operation)) {
    refuse(object.place("operation"), fmt::format("{} cannot compute \"{}\", its parameters are other ones",
                                                  entry_name(check.entry), name_of(check.operation)));
  }
  check.element = choice<ElementType>(object.text("element"), object.place("element"));
  const std::optional<double> points = object.number("points");
  if (!points || !(*points >= 0)) refuse(object.place("points"), "expected a number, 0 or more");
  check.points = *points;
  check.needs = object.text("needs", "");
  check.explain = object.text("explain", "");
  check.profile = profile(object, "");
  for (const auto& [key, kind] : keys_of_kinds)
    if (kind != check.kind && object.find(key) != nullptr)
      refuse(object.place(key), fmt::format("not a key of a {} check", name_of(check.kind)));
  if (check.kind == CheckPlan::Kind::correctness) parse_correctness(object, check);
  if (check.kind == CheckPlan::Kind::count) parse_count(object, check);
  if (check.kind == CheckPlan::Kind::timing) parse_timing(object, check);
  object.finish();
  return check;
}

std::map<std::string, std::filesystem::path> parse_runners(Object object) {
  std::map<std::string, std::filesystem::path> runners;
  for (const char* element : {"float", "affine", "provenance"}) {
    const std::string path = object.text(element, "");
    if (!path.empty()) runners[element] = path;
  }
  object.finish();
  return runners;
}

std::vector<std::string> parse_launcher(Object& object) {
  std::vector<std::string> words;
  if (object.find("launcher") == nullptr) return words;
  object.list("launcher", [&](const Value& word, const std::string& place) { words.push_back(as_text(word, place)); });
  for (const char* needed : {"{program}", "{status}"}) {
    const bool is_there =
        std::ranges::any_of(words, [&](const auto& word) { return word.find(needed) != std::string::npos; });
    if (!words.empty() && !is_there) refuse(object.place("launcher"), fmt::format("no word has {}", needed));
  }
  return words;
}

/// Names are unique, `needs` names an earlier check, and every element has its runner.
void check_references(const Plan& plan) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.checks.size(); ++i) {
    const CheckPlan& check = plan.checks[i];
    const std::string place = fmt::format("checks[{}]", i);
    if (!check.needs.empty() && !names.contains(check.needs))
      refuse(place + ".needs", fmt::format("no earlier check is called \"{}\"", check.needs));
    const auto host = std::ranges::find(plan.checks, check.among, &CheckPlan::name);
    if (!check.among.empty() && (!names.contains(check.among) || host->kind != CheckPlan::Kind::correctness ||
                                 host->entry != check.entry || host->element != check.element)) {
      refuse(place + ".among",
             fmt::format("\"{}\" is no earlier correctness check of this entry and element", check.among));
    }
    if (!names.insert(check.name).second)
      refuse(place + ".name", fmt::format("a second check is called \"{}\"", check.name));
    if (!plan.runners.contains(name_of(check.element)))
      refuse(fmt::format("runners.{}", name_of(check.element)),
             fmt::format("missing, and {} is of element {}", place, name_of(check.element)));
  }
}

}  // namespace

std::optional<Where> place_of(const Plan& plan, std::size_t i) {
  if (plan.section == 0) return std::nullopt;
  Where where;
  where.file = plan.source;
  where.block = {i / plan.section, 0, 0};
  const std::size_t place = i % plan.section;
  where.thread = {plan.block_size == 0 ? place : place % plan.block_size, 0, 0};
  return where;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n\t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n\t") + 1 - first);
}

Plan parse_plan(std::string_view text) {
  Value json;
  try {
    json = Value::parse(text);
  } catch (const Value::exception& error) {  // out_of_range too: a number like 1e999
    throw KitFault(fmt::format("not JSON: {}", error.what()));
  }

  Object object(json, "");
  object.whole("version", 1, 1);
  Plan plan;
  plan.lab = object.text("lab");
  plan.title = object.text("title", plan.lab);
  plan.device = choice<Plan::Device>(object.text("device"), "device");
  plan.profile = profile(object, plan.profile);
  plan.seed = object.whole("seed", 0, std::numeric_limits<std::uint64_t>::max());
  plan.section = object.whole("section", 0, largest_n);
  plan.block_size = object.whole("block_size", 0, 1024, plan.block_size);
  plan.source = object.text("source", "");
  if (object.find("marks") != nullptr)
    object.list("marks", [&](const Value& json, const std::string& place) {
      Object mark(json, place);
      plan.marks.push_back({static_cast<unsigned>(mark.whole("line", 1, most_lines)),
                            static_cast<unsigned>(mark.whole("at", 1, most_lines)), mark.text("code"),
                            static_cast<unsigned>(mark.whole("branches", 0, most_lines, 0))});
      mark.finish();
    });
  if (object.find("barriers") != nullptr)
    object.list("barriers", [&](const Value& line, const std::string& place) {
      plan.barriers.push_back(static_cast<unsigned>(as_whole(line, place, 1, most_lines)));
    });
  plan.again = object.text("again", "");
  if (const Value* limits = object.find("limits")) plan.limits = parse_limits(Object(*limits, "limits"));
  plan.trail = parse_trail(object);
  plan.runners = parse_runners(Object(object.get("runners"), "runners"));
  plan.device_code = object.text("device_code", "");
  plan.is_brief = object.boolean("is_brief", false);
  plan.host_breach = object.text("host_breach", "");
  plan.host_state = object.text("host_state", "");
  // Of the same element: what is kept of a map is its name.
  if (const auto named = plan.runners.find("provenance"); named != plan.runners.end()) {
    plan.has_provenance = true;
    plan.runners["affine"] = named->second;
  }
  if (const Value* reference = object.find("reference"))
    plan.reference = parse_runners(Object(*reference, "reference"));
  plan.launcher = parse_launcher(object);
  plan.honest_runner = object.text("honest_runner", "");
  object.list("checks", [&](const Value& check, const std::string& place) {
    plan.checks.push_back(parse_check(Object(check, place)));
  });
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
    refuse(path.string(), fault.what());
  }
}

}  // namespace scanlab::grade
