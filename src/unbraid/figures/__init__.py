"""Figures of models, scores and codes. matplotlib is imported when a figure is drawn."""

from unbraid.figures.canvas import data_of as data_of
from unbraid.figures.code_views import code_map as code_map
from unbraid.figures.code_views import mean_code_curves as mean_code_curves
from unbraid.figures.code_views import mean_histograms as mean_histograms
from unbraid.figures.heat_map import heat_map as heat_map
from unbraid.figures.heat_map import joint_tables as joint_tables
from unbraid.figures.heat_map import latent_factor_map as latent_factor_map
from unbraid.figures.heat_map import latent_latent_map as latent_latent_map
from unbraid.figures.heat_map import metric_correlation as metric_correlation
from unbraid.figures.lines import latent_curves as latent_curves
from unbraid.figures.lines import mean_band as mean_band
from unbraid.figures.lines import parallel_coordinates as parallel_coordinates
from unbraid.figures.lines import training_curves as training_curves
from unbraid.figures.planes import median_paths as median_paths
from unbraid.figures.planes import rate_distortion_plane as rate_distortion_plane
from unbraid.figures.planes import scatter_plot as scatter_plot
from unbraid.figures.saving import save as save
from unbraid.figures.setting_plots import box_plot as box_plot
from unbraid.figures.setting_plots import error_bars as error_bars
from unbraid.figures.setting_plots import sorted_bars as sorted_bars
from unbraid.figures.setting_plots import strip_plot as strip_plot
from unbraid.figures.setting_plots import violin_plot as violin_plot
from unbraid.figures.style import family_look as family_look
from unbraid.figures.traversal import SideBySide as SideBySide
from unbraid.figures.traversal import Traversal as Traversal
