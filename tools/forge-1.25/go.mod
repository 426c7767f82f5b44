// An older Gitea for the contract suite of its adapter, built by `make forge-older` from its published module. No Go
// source of ours. Gitea's own replacements are repeated, since Go takes them from the main module only.
module damascus/tools/forge-1.25

go 1.26.3

require code.gitea.io/gitea v1.25.5

replace (
	git.sr.ht/~mariusor/go-xsd-duration => gitea.com/gitea/go-xsd-duration v0.0.0-20220703122237-02e73435a078
	github.com/hashicorp/go-version => github.com/6543/go-version v1.3.1
	github.com/jaytaylor/html2text => github.com/Necoro/html2text v0.0.0-20250804200300-7bf1ce1c7347
	github.com/nektos/act => gitea.com/gitea/act v0.261.7-0.20251003180512-ac6e4b751763
)
