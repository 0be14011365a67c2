"""What is signed here is what the specification's own example says."""

import base64

from outbox.signing import sign_github, sign_standard_webhooks, signing_key

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # the example of the specification's test suites
BODY = b'{"test": 2432232314}'


def test_the_known_example_of_standard_webhooks_is_reproduced() -> None:
    signature = sign_standard_webhooks(BODY, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, [signing_key(SECRET)])
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_each_key_signs_once_in_order() -> None:
    keys = [b"a" * 24, b"b" * 24]
    items = sign_standard_webhooks(BODY, "m", 1, keys).split(" ")
    assert items == [sign_standard_webhooks(BODY, "m", 1, [key]) for key in keys]


def test_the_prefix_of_a_secret_does_not_matter() -> None:
    bare = SECRET.removeprefix("whsec_")
    assert signing_key(SECRET) == signing_key(f" {bare}\n") == base64.b64decode(bare)


def test_the_example_of_githubs_documentation_is_reproduced() -> None:
    signature = sign_github(b"Hello, World!", "It's a Secret to Everybody")
    assert signature == "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
