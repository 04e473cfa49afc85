// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/process/channel.h"
#include "headroom/process/spawn.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using namespace testing;

using Clock = std::chrono::steady_clock;
using Status = Channel::Status;

void send_raw(const Channel& channel, std::string_view bytes) {
  ASSERT_EQ(::send(channel.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

TEST(Channel, CarriesLinesBothWays) {
  auto [left, right] = Channel::pair();
  std::string line;
  EXPECT_TRUE(left.write_line("hello"));
  EXPECT_TRUE(left.write_line(""));
  EXPECT_TRUE(right.write_line("back"));
  EXPECT_EQ(right.read_line(line, milliseconds(1000)), Status::kLine);
  EXPECT_EQ(line, "hello");
  EXPECT_EQ(right.read_line(line, milliseconds(1000)), Status::kLine);
  EXPECT_EQ(line, "");
  EXPECT_EQ(left.read_line(line, milliseconds(-1)), Status::kLine);
  EXPECT_EQ(line, "back");
}

TEST(Channel, BothEndsAreCloseOnExecAndSoIsOneThatWasInherited) {
  auto [left, right] = Channel::pair();
  EXPECT_EQ(::fcntl(left.fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(right.fd(), F_GETFD), FD_CLOEXEC);
  const Channel inherited(::dup(left.fd()));
  EXPECT_EQ(::fcntl(inherited.fd(), F_GETFD), FD_CLOEXEC);
}

TEST(Channel, PartialLinesAreJoined) {
  auto [left, right] = Channel::pair();
  std::string line;
  send_raw(left, "ab");
  EXPECT_EQ(right.read_line(line, milliseconds(5)), Status::kTimeout);
  EXPECT_FALSE(right.buffered_line(line));
  send_raw(left, "c\nd\ne");
  EXPECT_EQ(right.receive(), Status::kLine);
  ASSERT_TRUE(right.buffered_line(line));
  EXPECT_EQ(line, "abc");
  ASSERT_TRUE(right.buffered_line(line));
  EXPECT_EQ(line, "d");
  EXPECT_FALSE(right.buffered_line(line));
  EXPECT_EQ(right.receive(), Status::kTimeout);
  send_raw(left, "f\n");
  EXPECT_EQ(right.read_line(line, milliseconds(1000)), Status::kLine);
  EXPECT_EQ(line, "ef");
}

TEST(Channel, WhatCameBeforeTheEndIsReadAndACutLineIsNot) {
  auto [left, right] = Channel::pair();
  std::string line;
  send_raw(left, "one\ntw");
  left = Channel(-1);
  EXPECT_EQ(right.read_line(line, milliseconds(-1)), Status::kLine);
  EXPECT_EQ(line, "one");
  EXPECT_EQ(right.read_line(line, milliseconds(-1)), Status::kClosed);
  EXPECT_EQ(right.receive(), Status::kClosed);
}

TEST(Channel, WritingToAClosedEndIsFalseAndNoSignal) {
  auto [left, right] = Channel::pair();
  right = Channel(-1);
  EXPECT_FALSE(left.write_line("anybody?"));
  EXPECT_FALSE(Channel(-1).write_line("closed"));
}

TEST(Channel, ReadTimeoutIsKept) {
  auto [left, right] = Channel::pair();
  std::string line;
  const auto start = Clock::now();
  EXPECT_EQ(left.read_line(line, milliseconds(30)), Status::kTimeout);
  const auto waited = Clock::now() - start;
  EXPECT_GE(waited, milliseconds(30));
  EXPECT_LT(waited, milliseconds(3000));
  EXPECT_EQ(left.read_line(line, milliseconds(0)), Status::kTimeout);
}

TEST(Channel, AReaderThatHangsDoesNotBlockAWriterWithATimeout) {
  auto [left, right] = Channel::pair();
  const std::string big(8 << 20, 'x');
  EXPECT_FALSE(left.write_line(big, milliseconds(20)));
  EXPECT_FALSE(left.write_line("after half a line", milliseconds(20)));
}

TEST(Channel, LargeLinesPassWhole) {
  auto [left, right] = Channel::pair();
  std::string sent(20 << 20, 'x');
  sent.front() = 'a';
  sent.back() = 'z';
  std::thread writer([&left = left, &sent] { EXPECT_TRUE(left.write_line(sent)); });
  std::string line;
  EXPECT_EQ(right.read_line(line, milliseconds(5000)), Status::kLine);
  writer.join();
  EXPECT_TRUE(line == sent);
}

TEST(Channel, ALineWithoutEndIsTooLongForEver) {
  auto [left, right] = Channel::pair();
  std::atomic<bool> stop = false;
  std::thread writer([&left = left, &stop] {
    const std::string block(1 << 20, 'x');
    while (!stop && ::send(left.fd(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  std::string line;
  EXPECT_EQ(right.read_line(line, milliseconds(10000)), Status::kTooLong);
  EXPECT_EQ(right.read_line(line, milliseconds(10)), Status::kTooLong);
  EXPECT_EQ(right.receive(), Status::kTooLong);
  stop = true;
  right = Channel(-1);
  writer.join();
}

TEST(Channel, SignalsNeitherEndNorLengthenAWait) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};  // without SA_RESTART: calls return EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  auto [left, right] = Channel::pair();
  const pthread_t reader = ::pthread_self();
  std::atomic<bool> stop = false;
  std::thread pest([&] {
    while (!stop) {
      ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(milliseconds(2));
    }
  });
  std::string line;
  const auto start = Clock::now();
  EXPECT_EQ(right.read_line(line, milliseconds(40)), Status::kTimeout);
  const auto waited = Clock::now() - start;
  EXPECT_GE(waited, milliseconds(40));
  EXPECT_LT(waited, milliseconds(3000));
  stop = true;
  pest.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Channel, RefusesWhatIsNoSocketOrNoLine) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_THROW(Channel{ends[0]}, Error);
  ::close(ends[0]);
  ::close(ends[1]);
  try {
    const Channel channel(987);
    FAIL() << "descriptor 987 is not open";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("987"), std::string::npos);
  }
  auto [left, right] = Channel::pair();
  EXPECT_THROW(left.write_line("two\nlines"), std::invalid_argument);
}

TEST(LineRing, KeepsTheLastLines) {
  LineRing ring(3);
  ring.append("one\ntwo\nthree\nfour\nfive\n");
  EXPECT_THAT(ring.lines(), ElementsAre("three", "four", "five"));
  EXPECT_EQ(ring.total_bytes(), 24U);
}

TEST(LineRing, AnUnfinishedLineIsTheLastOne) {
  LineRing ring(3);
  ring.append("one\ntwo\nthree\nfo");
  EXPECT_THAT(ring.lines(), ElementsAre("two", "three", "fo"));
  ring.append("ur\n");
  EXPECT_THAT(ring.lines(), ElementsAre("two", "three", "four"));
}

TEST(LineRing, HowTheBytesAreCutIntoCallsMakesNoDifference) {
  const std::string text = "a\n\nlonger than eight\r\nb\rc\n€uro€uro\n\nlast";
  LineRing whole(4, 8);
  whole.append(text);
  for (std::size_t step = 1; step < text.size(); ++step) {
    LineRing pieces(4, 8);
    for (std::size_t at = 0; at < text.size(); at += step) pieces.append(text.substr(at, step));
    EXPECT_EQ(pieces.lines(), whole.lines()) << "in steps of " << step;
  }
  EXPECT_THAT(whole.lines(), ElementsAre("b\rc", "€uro…", "", "last"));
}

TEST(LineRing, EmptyLinesCount) {
  LineRing ring(3);
  ring.append("x\n\n\n");
  EXPECT_THAT(ring.lines(), ElementsAre("x", "", ""));
}

TEST(LineRing, LongLinesAreCutAtACharacter) {
  LineRing ring(2, 4);
  ring.append("abcd\nabcde\n");
  EXPECT_THAT(ring.lines(), ElementsAre("abcd", "abcd…"));
  ring.append("abcé\nab€\n");
  EXPECT_THAT(ring.lines(), ElementsAre("abc…", "ab…"));
  ring.append("ééé");
  EXPECT_THAT(ring.lines(), ElementsAre("ab…", "éé…"));
}

TEST(LineRing, MemoryIsBoundedWhateverIsWritten) {
  LineRing ring(20, 512);
  const std::string block(1 << 20, '\xFF');
  for (int i = 0; i < 32; ++i) ring.append(block);
  ring.append("\n");
  const std::string lines = std::string(1 << 20, '\n');
  for (int i = 0; i < 32; ++i) ring.append(lines);
  EXPECT_EQ(ring.total_bytes(), (std::size_t{64} << 20) + 1);
  EXPECT_EQ(ring.lines(), std::vector<std::string>(20));
}

TEST(LineRing, NothingWrittenOrNothingKept) {
  EXPECT_THAT(LineRing().lines(), IsEmpty());
  LineRing none(0);
  none.append("a\nb\nc");
  EXPECT_THAT(none.lines(), IsEmpty());
  EXPECT_EQ(none.total_bytes(), 5U);
}

}  // namespace
}  // namespace headroom
