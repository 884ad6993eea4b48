import base64
import hashlib

import pytest

from unbraid.show.pages.policy import policy_of, script_of


def test_the_policy_allows_this_script_and_no_other():
    digest = base64.b64encode(hashlib.sha256(b"1 < 2").digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy_of("1 < 2")
    assert policy_of("1 < 2").startswith("default-src 'none';")
    assert "unsafe-inline" not in policy_of("1 < 2").split("style-src")[0]


def test_a_script_is_a_file_of_its_own():
    assert "numberOf" in script_of("report.js")


@pytest.mark.parametrize("policy", [policy_of(), policy_of("1 < 2"), policy_of("1 < 2", "p {}")])
def test_no_page_may_send_a_form_or_change_its_base(policy):
    assert "form-action 'none'" in policy.split("; ")
    assert "base-uri 'none'" in policy.split("; ")
    assert "connect-src" not in policy
