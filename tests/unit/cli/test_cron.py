"""`hermes cron` against a running gateway, and against the files of one that does not run."""

import json

import pytest

pytestmark = pytest.mark.req("W29")
WHEN = "every weekday at 9 in Berlin"


def jobs_of(done):
    return json.loads(done.stdout)["jobs"]


@pytest.mark.parametrize("with_gateway", [True, False])
def test_a_job_is_made_listed_paused_run_and_removed(hermes, request, with_gateway):
    # Given a person, and a gateway or only its files
    if with_gateway:
        request.getfixturevalue("gateway")
    assert hermes("users", "add", "rest:ann").returncode == 0

    # When a job is made
    made = hermes("cron", "add", "rest:ann", WHEN, "What is new?")
    assert (made.returncode, made.stderr) == (0, "")
    assert "is scheduled: Mon-Fri 09:00 Europe/Berlin, next: " in made.stdout
    (job,) = jobs_of(hermes("cron", "list", "--user", "rest:ann", "--json"))

    # Then it is there, and does as it is told
    assert (job["state"], job["user"], job["target"]) == ("waiting", "rest:ann", "origin")
    assert (job["text"], job["zone"], job["missed"]) == ("What is new?", "Europe/Berlin", 0)
    listed = hermes("cron", "list").stdout
    assert "Mon-Fri 09:00 Europe/Berlin" in listed
    assert "is paused." in hermes("cron", "pause", job["id"][-6:]).stdout
    shown = hermes("cron", "show", job["id"])
    assert "paused" in shown.stdout
    assert "has not run yet" in shown.stdout
    assert "runs again, next: " in hermes("cron", "resume", job["id"]).stdout
    ran = json.loads(hermes("cron", "run", job["id"], "--json").stdout)
    assert ran["job"]["runs"] == 1
    assert ran["message_id"].startswith("m_")
    assert "is removed." in hermes("cron", "remove", job["id"]).stdout
    assert "There are no scheduled jobs" in hermes("cron", "list").stdout


def test_what_is_wrong_is_said_with_the_way_out(hermes, gateway):
    assert hermes("users", "add", "rest:ann").returncode == 0
    refused = [
        (hermes("cron", "add", "rest:ann", "every blorp", "x"), "I do not understand 'blorp'"),
        (hermes("cron", "show", "j_none"), "There is no job 'j_none'"),
    ]

    for done, told in refused:
        assert (done.returncode, done.stdout) == (1, ""), told
        assert told in done.stderr


def test_a_home_without_anything_has_no_jobs(hermes):
    assert "There are no scheduled jobs" in hermes("cron", "list").stdout
    assert "There is no job" in hermes("cron", "show", "j_1").stderr
