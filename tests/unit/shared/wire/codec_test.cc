#include "shared/wire/codec.h"

#include <array>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <msgpack.hpp>

#include "tests/unit/shared/wire/random_message.h"

namespace carillon::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kTypes = std::variant_size_v<Message>;

template <std::size_t kType>
Message make_random(RandomFill& random) {
  Message message{std::in_place_index<kType>};
  random.fill(std::get<kType>(message));
  return message;
}

template <std::size_t... kAll>
Message random_message(std::size_t type, RandomFill& random, std::index_sequence<kAll...>) {
  constexpr std::array kMakers{make_random<kAll>...};
  return kMakers[type](random);
}

Envelope random_envelope(std::size_t type, std::uint64_t seed) {
  RandomFill random(seed);
  return {random.below(UINT64_MAX),
          random_message(type, random, std::make_index_sequence<kTypes>{})};
}

bool is_same_message(const Message& one, const Message& other) {
  return std::visit(
      [](const auto& a, const auto& b) {
        if constexpr (std::is_same_v<decltype(a), decltype(b)>) {
          return is_same(a, b);
        } else {
          return false;
        }
      },
      one, other);
}

// A frame written by MessagePack's own packer.
class Frame {
 public:
  Frame() = default;
  Frame(int version, std::uint64_t type, std::uint64_t correlation) {
    packer.pack_array(4);
    packer.pack(version).pack(type).pack(correlation);
  }
  std::string bytes() const { return {buffer.data(), buffer.size()}; }

  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer{buffer};
};

constexpr std::uint64_t kSubmitType = 1;
constexpr std::uint64_t kRegisterType = 7;
constexpr std::uint64_t kPullType = 9;
constexpr std::uint64_t kHandOutType = 11;
constexpr std::uint64_t kReportType = 12;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string error_of(const std::string& frame) {
  const auto decoded = decode(frame);
  return decoded.ok() ? "none" : decoded.error().message;
}

TEST(Codec, RoundTripsEveryMessage) {
  for (std::size_t type = 0; type < kTypes; ++type) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE("type " + std::to_string(type) + " seed " + std::to_string(seed));
      const Envelope sent = random_envelope(type, seed);
      const std::string frame = encode(sent);
      const auto got = decode(frame);
      ASSERT_TRUE(got.ok()) << got.error().message;
      ASSERT_EQ(got.value().correlation, sent.correlation);
      ASSERT_TRUE(is_same_message(got.value().message, sent.message));
      ASSERT_EQ(correlation_of(frame), sent.correlation);
    }
  }
}

TEST(Codec, RoundTripsEveryJobSpec) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomFill random(seed);
    JobSpec spec;
    random.fill(spec);
    spec.replace_on_exist = false;  // Not stored with the job.
    const auto got = decode_spec(encode_spec(spec));
    ASSERT_TRUE(got.ok()) << got.error().message;
    ASSERT_EQ(got.value(), spec) << "seed " << seed;
  }
}

TEST(Codec, KeepsReplaceOnExistInASubmissionAndNotInAStoredJob) {
  const JobSpec job{.replace_on_exist = true};
  EXPECT_EQ(hex(encode_spec(job)), "80");
  // As earlier versions have stored it.
  const std::string stored = std::string("\x81\xb0") + "replace_on_exist" + "\xc3";
  EXPECT_FALSE(decode_spec(stored).value().replace_on_exist);
  const auto submitted = decode(encode({1, Submit{.request = {1, 1}, .jobs = {job}}}));
  EXPECT_TRUE(std::get<Submit>(submitted.value().message).jobs.at(0).replace_on_exist);
}

TEST(Codec, OmitsDefaults) {
  EXPECT_EQ(hex(encode_spec(JobSpec{})), "80");
  JobSpec of_row{.task_id = "report", .group = "mail"};
  EXPECT_EQ(hex(encode_spec_of_row(of_row)), "80") << "the row says both";
  EXPECT_EQ(of_row, (JobSpec{.task_id = "report", .group = "mail"}));
  EXPECT_EQ(hex(encode({5, Register{}})),
            "94010705"
            "80");
  EXPECT_EQ(encode_spec(JobSpec{.group = ""}), std::string("\x81\xa5group\xa0"))
      << "an empty text where the default is not empty is said";
}

TEST(Codec, FrameBytesNeverChange) {
  const Pull pull{.session = SessionId{7},
                  .number = 300,
                  .handout_seen = 2,
                  .window = 4,
                  .holding = std::vector<Held>{{.id = {JobId{65536}, 1}, .started = true}}};
  EXPECT_EQ(hex(encode({9, pull})),
            "94010909"                      // version, type, correlation
            "85"                            // five fields
            "a773657373696f6e07"            // session: 7
            "a66e756d626572cd012c"          // number: 300
            "ac68616e646f75745f7365656e02"  // handout_seen: 2
            "a677696e646f7704"              // window: 4
            "a7686f6c64696e679182"          // holding: one, of two fields
            "a2696492ce0001000001"          // id: 65536, 1
            "a773746172746564c3");          // started: true
}

template <std::size_t... kAll>
std::vector<std::string_view> names(std::index_sequence<kAll...>) {
  return {Layout<std::variant_alternative_t<kAll, Message>>::kName...};
}

TEST(Codec, MessageTypeNumbersNeverChange) {
  EXPECT_THAT(
      names(std::make_index_sequence<kTypes>{}),
      ElementsAre("ErrorReply", "Submit", "Submitted", "Act", "Acted", "Query", "Rows", "Register",
                  "Registered", "Pull", "Pulled", "HandOut", "Report", "GiveBack", "Reported",
                  "Output", "OutputTaken", "Kill", "Bye", "Gone", "FetchFeedback", "Feedback",
                  "Redirect", "PutPrincipal", "RemovePrincipal"));
}

TEST(Codec, IgnoresUnknownFields) {
  Frame frame(1, kPullType, 3);
  frame.packer.pack_map(5);
  frame.packer.pack("new").pack(std::map<std::string, std::vector<int>>{{"a", {1, 2}}});
  frame.packer.pack("number").pack(12);
  frame.packer.pack(99).pack("a key that is no text");
  frame.packer.pack("ext").pack_ext(3, 1).pack_ext_body("abc", 3);
  frame.packer.pack("window").pack(5);
  const auto got = decode(frame.bytes());
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(std::get<Pull>(got.value().message).number, 12);
  EXPECT_EQ(std::get<Pull>(got.value().message).window, 5);
}

TEST(Codec, ReadsNilAsAMissingField) {
  Frame frame(1, kRegisterType, 3);
  frame.packer.pack_map(2);
  frame.packer.pack("threads").pack_nil();
  frame.packer.pack("labels").pack_nil();
  const auto got = decode(frame.bytes());
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(std::get<Register>(got.value().message).threads, 1);
}

TEST(Codec, ReadsANilJobListAsEmpty) {
  for (const std::uint64_t type : {kSubmitType, kHandOutType}) {
    Frame frame(1, type, 3);
    frame.packer.pack_map(1);
    frame.packer.pack("jobs").pack_nil();
    const auto got = decode(frame.bytes());
    ASSERT_TRUE(got.ok()) << got.error().message;
    const Message& message = got.value().message;
    const auto* submit = std::get_if<Submit>(&message);
    EXPECT_TRUE(submit != nullptr ? submit->jobs.empty() : std::get<HandOut>(message).jobs.empty());
  }
}

TEST(Codec, LastOfDuplicateKeysWins) {
  Frame frame(1, kRegisterType, 3);
  frame.packer.pack_map(2);
  frame.packer.pack("allow").pack(std::vector<std::string>{"http", "shell"});
  frame.packer.pack("allow").pack(std::vector<std::string>{"handler"});
  const auto got = decode(frame.bytes());
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_THAT(std::get<Register>(got.value().message).allow, ElementsAre("handler"));
}

TEST(Codec, NamesTheFieldWithAWrongType) {
  Frame frame(1, kSubmitType, 3);
  frame.packer.pack_map(1);
  frame.packer.pack("jobs").pack_array(2);
  frame.packer.pack_map(0);
  frame.packer.pack_map(1).pack("schedule").pack_map(1).pack("count").pack("three");
  EXPECT_EQ(error_of(frame.bytes()),
            "Submit.jobs[1].schedule.count is text, must be a whole number");
}

TEST(Codec, NamesTheFieldThatIsOutOfRange) {
  const auto problem = [](const char* key, std::int64_t value) {
    Frame frame;
    frame.packer.pack_map(1);
    frame.packer.pack(key).pack(value);
    return decode_spec(frame.bytes()).error().message;
  };
  EXPECT_EQ(problem("overlap", 5), "job.overlap is 5, must be 0 to 4");
  EXPECT_EQ(problem("overlap", -1), "job.overlap is -1, must be 0 to 4");
  EXPECT_EQ(problem("timeout", -1), "job.timeout is -1, must be 0 to 3162240000000000");
  EXPECT_THAT(problem("priority", 1LL << 40), HasSubstr("job.priority is 1099511627776, must be"));
}

TEST(Codec, RefusesTimesThatCouldOverflow) {
  for (const std::int64_t micros : {INT64_MAX, INT64_MIN, 253'402'300'800'000'000}) {
    Frame frame(1, kReportType, 3);
    frame.packer.pack_map(1).pack("results").pack_array(1);
    frame.packer.pack_map(1).pack("ended_at").pack(micros);
    EXPECT_THAT(error_of(frame.bytes()), HasSubstr("Report.results[0].ended_at is "));
  }
}

TEST(Codec, AcceptsTextAsBytesButNotBytesAsText) {
  Frame as_text;
  as_text.packer.pack_map(1).pack("payload").pack("abc");
  EXPECT_EQ(decode_spec(as_text.bytes()).value().payload, "abc");
  Frame as_bytes;
  as_bytes.packer.pack_map(1).pack("owner").pack_bin(3).pack_bin_body("abc", 3);
  EXPECT_EQ(decode_spec(as_bytes.bytes()).error().message, "job.owner is bytes, must be text");
}

TEST(Codec, RefusesATruncatedFrame) {
  for (std::size_t type = 0; type < kTypes; ++type) {
    const std::string frame = encode(random_envelope(type, 17 + type));
    for (std::size_t size = 0; size < frame.size(); ++size) {
      ASSERT_FALSE(decode(std::string_view{frame}.substr(0, size)).ok())
          << "type " << type << " cut to " << size << " of " << frame.size();
    }
  }
}

TEST(Codec, RefusesTrailingBytesAfterAMessage) {
  EXPECT_EQ(error_of(encode({1, Bye{SessionId{4}}}) + "x"), "Bye is followed by extra bytes");
  EXPECT_FALSE(decode_spec(encode_spec(JobSpec{}) + "x").ok());
}

TEST(Codec, SurvivesRandomBytesAndChangedFrames) {
  RandomFill random(4711);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string frame;
    if (i % 4 == 0) {
      random.fill(frame);
    } else {
      frame = encode(random_envelope(random.below(kTypes), random.below(1000)));
      for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
        frame[random.below(frame.size())] = static_cast<char>(random.below(256));
      }
    }
    const auto got = decode(frame);
    if (!got.ok()) {
      ++refused;
      ASSERT_FALSE(got.error().message.empty());
    }
    (void)correlation_of(frame);  // Whatever it says, it must return.
  }
  EXPECT_GT(refused, 1000);
}

TEST(Codec, RefusesFramesThatClaimHugeLengths) {
  const std::string head("\x94\x01\x01\x03\x81\xa4jobs", 10);
  for (const char* claim : {"\xdd\xff\xff\xff\xff", "\xdc\xff\xff", "\xdf\xff\xff\xff\xff"}) {
    EXPECT_FALSE(decode(claim).ok());
    EXPECT_FALSE(decode(head + claim).ok());
  }
  EXPECT_FALSE(decode_spec(std::string("\x81\xa7payload\xc6\xff\xff\xff\xff", 14)).ok());
  EXPECT_FALSE(decode_spec(std::string("\x81\xa3new\xdf\xff\xff\xff\xff", 10)).ok());
}

TEST(Codec, RefusesMoreJobsThanASubmitMayHold) {
  Submit submit;
  submit.jobs.resize(kSubmitJobsMax);
  EXPECT_TRUE(decode(encode({1, submit})).ok());
  submit.jobs.resize(kSubmitJobsMax + 1);
  EXPECT_EQ(error_of(encode({1, submit})), "Submit.jobs has 1001 elements, at most 1000");
}

TEST(Codec, SkipsAnUnknownFieldOfAnyDepth) {
  const std::string deep(1'000'000, '\x91');
  EXPECT_TRUE(decode_spec("\x81\xa3new" + deep + "\x01").ok());
  EXPECT_FALSE(decode_spec("\x81\xa3new" + deep).ok());
}

TEST(Codec, RefusesAFrameThatIsTooLarge) {
  EXPECT_EQ(error_of(std::string(kFrameBytesMax + 1, '\x94')),
            "frame has 4194305 bytes, at most 4194304");
}

TEST(Codec, ReadsTheCorrelationOfFramesItRefuses) {
  Frame version(2, 1, 77);
  version.packer.pack_map(0);
  EXPECT_EQ(error_of(version.bytes()), "frame is of protocol version 2, must be 1");
  EXPECT_EQ(correlation_of(version.bytes()), 77U);
  Frame type(1, kTypes, 78);
  type.packer.pack_map(0);
  EXPECT_EQ(error_of(type.bytes()), "message type 25 is unknown, the highest is 24");
  EXPECT_EQ(correlation_of(type.bytes()), 78U);
}

TEST(Codec, FindsNoCorrelationInBytesThatAreNoFrame) {
  EXPECT_EQ(correlation_of(""), 0U);
  EXPECT_EQ(correlation_of("hello"), 0U);
  EXPECT_EQ(correlation_of("\x94\x01\x01\xff"), 0U);
  EXPECT_EQ(error_of("\x93\x01\x01\x01"), "frame has 3 parts, must have 4 or 5");
}

}  // namespace
}  // namespace carillon::wire
