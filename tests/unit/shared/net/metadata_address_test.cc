#include "shared/net/metadata_address.h"

#include <gtest/gtest.h>

namespace carillon::net {
namespace {

TEST(MetadataAddress, IncludesLinkLocalAndCloudMetadataAddresses) {
  for (const char* host :
       {"169.254.169.254", "169.254.0.23", "fe80::1", "FE80::1", "fe80::1%eth0",
        "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "100.100.100.200", "192.0.0.192",
        "fd00:ec2::254", "64:ff9b::a9fe:a9fe", "::169.254.169.254", "2002:a9fe:a9fe::1"}) {
    EXPECT_TRUE(is_metadata_address(host)) << host;
  }
}

TEST(MetadataAddress, IsRecognizedInNumericForms) {
  for (const char* host : {"2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518"}) {
    EXPECT_TRUE(is_metadata_address(host)) << host;
  }
}

TEST(MetadataAddress, ExcludesOtherAddressesAndHostNames) {
  for (const char* host : {"", "10.1.2.3", "127.0.0.1", "169.253.1.1", "100.100.100.201", "::1",
                           "fd00:ec2::253", "fec0::1", "64:ff9b::a01:203", "::10.1.2.3",
                           "::", "2002:a01:203::a9fe:a9fe", "169.254.example.com", "h"}) {
    EXPECT_FALSE(is_metadata_address(host)) << host;
  }
}

}  // namespace
}  // namespace carillon::net
