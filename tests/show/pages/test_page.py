import base64
import hashlib

import pytest

from unbraid.show.pages.page import content_policy


def test_the_policy_allows_this_script_and_no_other():
    digest = base64.b64encode(hashlib.sha256(b"1 < 2").digest()).decode()
    assert f"script-src 'sha256-{digest}';" in content_policy("1 < 2")
    assert content_policy("1 < 2").startswith("default-src 'none';")
    assert "unsafe-inline" not in content_policy("1 < 2").split("style-src")[0]


@pytest.mark.parametrize("policy", [content_policy(), content_policy("1 < 2"), content_policy("1 < 2", "p {}")])
def test_no_page_may_send_a_form_or_change_its_base(policy):
    assert "form-action 'none'" in policy.split("; ")
    assert "base-uri 'none'" in policy.split("; ")
    assert "connect-src" not in policy
