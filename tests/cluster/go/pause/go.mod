module managedjobs.dev/cluster/pause

go 1.26.0
