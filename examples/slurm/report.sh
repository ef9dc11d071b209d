#!/bin/sh
# What a recorded job does with its steps, and what would shorten them: docs/slurm.md.
#     report.sh TRACES TOPOLOGY [FOLDER]        such as report.sh traces/ dgx-h100:nodes=2 report/
set -e
traces=${1:?name the folder of traces}
topology=${2:?name the cluster, such as dgx-h100:nodes=2}
folder=${3:-report}
folder=${folder%/}
mkdir -p "$folder"
hocket trace validate "$traces"
hocket validate "$traces" -t "$topology" --report "$folder/validate.html"
hocket step "$traces" -t "$topology" --report "$folder/step.html"
echo "open $folder/step.html and $folder/validate.html"
