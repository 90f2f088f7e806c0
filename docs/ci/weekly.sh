#!/bin/sh
# Brings a campaign up to date and opens its next batch as a pull request.
#
# The state lives on a branch of its own, so that no pull request has to carry it. Run it in a clone with the whole
# history, by hand or once a week; it needs git, gh (logged in) and torchless. Run again after a failure, it goes on.
#   MAIN, REMOTE   the branch that is worked towards, and where to push (main, origin)
#   STATE          the branch that keeps campaign.toml (torchless-campaign)
#   COUNT          how many batches to open (1)
#   PLAN           further words for `torchless plan` the first time, such as "csrc --group-by owner"
set -eu
main=${MAIN:-main} remote=${REMOTE:-origin} state=${STATE:-torchless-campaign} count=${COUNT:-1}

left() { # exit code 1 says that something is left to do
    "$@" || [ $? -eq 1 ]
}
list() {
    git for-each-ref --format='%(refname:short) %(objectname)' refs/heads/torchless/ | sort
}

cd "$(git rev-parse --show-toplevel)"
git fetch -q --prune "$remote"
git switch -q --detach "$remote/$main"
# branches as they are there, hand edits and all
git fetch -q "$remote" "+refs/heads/torchless/*:refs/heads/torchless/*"
mkdir -p .torchless
if git cat-file -e "$remote/$state:campaign.toml" 2>/dev/null; then
    git show "$remote/$state:campaign.toml" > .torchless/campaign.toml
fi

before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
list > "$before"
# shellcheck disable=SC2086 # PLAN is several words
left torchless plan ${PLAN:-} --emit branches --next "$count"
list > "$after"

# a branch that is pushed, and then the state that knows of it: the other way round a failure would lose the branch
comm -13 "$before" "$after" | while read -r branch commit; do
    case $branch in *.fresh) continue ;; esac
    git push -q --force-with-lease "$remote" "$commit:refs/heads/$branch"
    if [ -z "$(gh pr list --head "$branch" --state open --json number --jq '.[].number')" ]; then
        git log -1 --format=%b "$commit" |
            gh pr create --head "$branch" --base "$main" --title "$(git log -1 --format=%s "$commit")" --body-file -
    fi
done

blob=$(git hash-object -w .torchless/campaign.toml)
tree=$(printf '100644 blob %s\tcampaign.toml\n' "$blob" | git mktree)
if old=$(git rev-parse -q --verify "$remote/$state"); then
    [ "$tree" = "$(git rev-parse "$old^{tree}")" ] && exit 0
    commit=$(git commit-tree "$tree" -p "$old" -m "Where the campaign stands")
else
    commit=$(git commit-tree "$tree" -m "Where the campaign stands")
fi
git push -q "$remote" "$commit:refs/heads/$state"
