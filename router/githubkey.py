"""Which session a GitHub delivery belongs to, as the default expressions of a `github` hook."""

from typing import Final

# One session per issue, pull request or discussion; else one per repository; else one per hook. Why so:
#
# * A pull request is an issue to half of GitHub's API. A comment on its conversation comes as `issue_comment` with
#   `issue.pull_request` set; a review comes with `pull_request`. Both must land in one session, so both say `pr`.
# * Checks, check suites and workflow runs list the open pull requests with their head commit. Exactly one, of this
#   very repository: it is that pull request's news. Two or more (one branch, two targets), or one of the upstream
#   repository seen from a fork: it belongs to none in particular, so to the repository, not to a guess.
# * A deployment carries the workflow run that made it, and falls under the same rule: a preview of one pull request.
# * Pushes, statuses, releases, branches and alerts may concern several pull requests or none: the repository.
#   So do labels and milestones, `merge_group`, and transfers: a transferred issue ends in its old session.
# * Events without a repository (installations, organisation projects, advisories) go to the hook's own session,
#   named by the header that GitHub sends, and without it to one for the whole account.
#
# Names, not ids, so that keys can be read and typed; after a rename a repository's sessions begin anew. Who renames
# or transfers often puts `body.repository.id` in place of `body.repository.full_name`.
_REPOSITORY = "['github', body.repository.full_name]"
_LISTED = "(body.check_run || body.check_suite || body.workflow_run).pull_requests"
_ONE_OF_OURS = f"!({_LISTED}[1]) && ({_LISTED}[0].base.repo.id == body.repository.id)"

GITHUB_KEY: Final = (
    f"[{_REPOSITORY}, ['pr', body.pull_request.number]]",
    f"body.issue.pull_request && [{_REPOSITORY}, ['pr', body.issue.number]]",
    f"[{_REPOSITORY}, ['issue', body.issue.number]]",
    f"[{_REPOSITORY}, ['discussion', body.discussion.number]]",
    f"{_ONE_OF_OURS} && [{_REPOSITORY}, ['pr', {_LISTED}[0].number]]",
    f"[{_REPOSITORY}]",
    """[['github', 'hook'], ['hook', headers."x-github-hook-id"]]""",
    "[['github', 'account']]",
)
